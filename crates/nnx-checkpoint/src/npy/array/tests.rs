use super::*;

/// The bytes that NumPy 2 writes: `np.save(f, np.array(…))`, cut to header and data.
fn file(version: u8, header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend([version, 0]);
    let length = header.len() as u32;
    match version {
        1 => bytes.extend((length as u16).to_le_bytes()),
        _ => bytes.extend(length.to_le_bytes()),
    }
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

#[track_caller]
fn check(version: u8, header: &str, data: &[u8], dtype: Dtype, expected: &[u8], shape: &[usize]) {
    let tensor = read(file(version, header, data)).unwrap();
    assert_eq!((tensor.dtype(), tensor.shape()), (dtype, shape));
    assert_eq!(tensor.to_vec().unwrap(), expected);
}

#[track_caller]
fn refuse(bytes: &[u8], expected: &str) {
    let error = read(bytes.to_vec()).unwrap_err();
    assert_eq!(error.kind().to_string(), expected);
}

#[test]
fn orders_of_bytes_and_axes_are_those_of_the_header() {
    let header = "{'descr': '>i2', 'fortran_order': False, 'shape': (2,), }  \n";
    let little = [2, 1, 254, 255];
    check(1, header, &[1, 2, 255, 254], Dtype::Int16, &little, &[2]);
    // np.asfortranarray([[1, 2, 3], [4, 5, 6]], dtype="u1")
    let header = "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }\n";
    let rows = [1, 2, 3, 4, 5, 6];
    check(2, header, &[1, 4, 2, 5, 3, 6], Dtype::UInt8, &rows, &[2, 3]);
    let header = "{\"shape\": (), \"descr\": '<f4', 'fortran_order': False}";
    let one = [0, 0, 0x80, 0x3f];
    check(3, header, &one, Dtype::Float32, &one, &[]);
    // np.zeros((0, 3), dtype="?")
    let header = "{'descr': '|b1', 'fortran_order': False, 'shape': (0, 3), }";
    check(1, header, &[], Dtype::Bool, &[], &[0, 3]);
}

#[test]
fn what_is_no_array_of_numbers_is_refused() {
    let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }\n";
    refuse(
        &file(1, header, &[0; 8]),
        "the shape `[3]` of dtype `<f4` does not fit the `8` bytes after the header",
    );
    refuse(MAGIC, "the file ends within the header of its array");
    refuse(
        &file(1, header, &[])[..20],
        "the file ends within the header of its array",
    );
    refuse(
        &file(4, header, &[]),
        "expected version 1, 2 or 3 of the npy format, found `4`",
    );
    refuse(
        &file(1, "{'descr': '<f4'}", &[]),
        "expected the header of an array, found `{'descr': '<f4'}`",
    );
    refuse(
        &file(1, "{'a': (", &[]),
        "expected the header of an array, found `{'a': (`",
    );
    let header = "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }\n";
    refuse(
        &file(1, header, &[0; 4]),
        "expected an array of real numbers or bools, found the dtype `[('a', '<f4')]`",
    );
    let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }\n";
    refuse(
        &file(1, header, &[]),
        "the shape `[4294967296, 4294967296]` of dtype `<f4` does not fit the `0` bytes after the \
         header",
    );
}

#[test]
fn what_is_written_is_what_numpy_writes() {
    let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3), }";
    // np.lib.format fills the header to 118 bytes.
    let header = format!("{header:<117}\n");
    let data = [1_f32, -2.5, 3.0].map(f32::to_le_bytes).concat();
    let tensor = Tensor::from_bytes(Dtype::Float32, &[1, 3], data.clone()).unwrap();
    assert_eq!(write(&tensor).unwrap(), file(1, &header, &data));
    // np.save(f, np.array([True, False]))
    let header = "{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }";
    let tensor = Tensor::from_bytes(Dtype::Bool, &[2], vec![1, 0]).unwrap();
    let header = format!("{header:<117}\n");
    assert_eq!(write(&tensor).unwrap(), file(1, &header, &[1, 0]));
    let tensor = Tensor::from_bytes(Dtype::BFloat16, &[1], vec![1, 0]).unwrap();
    assert!(write(&tensor).is_err());
}
