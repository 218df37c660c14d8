use nnx::net::candle_core::DType;

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
fn check(version: u8, header: &str, data: &[u8], dtype: DType, expected: &[f64], dims: &[usize]) {
    let tensor = read(&file(version, header, data)).unwrap();
    assert_eq!((tensor.dtype(), tensor.dims()), (dtype, dims));
    let flat = tensor.flatten_all().unwrap().to_dtype(DType::F64).unwrap();
    assert_eq!(flat.to_vec1::<f64>().unwrap(), expected);
}

#[track_caller]
fn refuse(bytes: &[u8], expected: &str) {
    assert_eq!(read(bytes).unwrap_err().message(), expected);
}

#[test]
fn orders_of_bytes_and_axes_are_those_of_the_header() {
    let header = "{'descr': '>i2', 'fortran_order': False, 'shape': (2,), }  \n";
    check(
        1,
        header,
        &[1, 2, 255, 254],
        DType::I16,
        &[258.0, -2.0],
        &[2],
    );
    // np.asfortranarray([[1, 2, 3], [4, 5, 6]], dtype="u1")
    let header = "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }\n";
    let expected = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    check(
        2,
        header,
        &[1, 4, 2, 5, 3, 6],
        DType::U8,
        &expected,
        &[2, 3],
    );
    let header = "{\"shape\": (), \"descr\": '<f4', 'fortran_order': False}";
    check(3, header, &[0, 0, 0x80, 0x3f], DType::F32, &[1.0], &[]);
}

#[test]
fn integers_that_candle_lacks_are_widened() {
    let header =
        |descr: &str| format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': (2,), }}\n");
    check(1, &header("|b1"), &[0, 1], DType::I64, &[0.0, 1.0], &[2]);
    check(1, &header("|i1"), &[255, 1], DType::I64, &[-1.0, 1.0], &[2]);
    check(
        1,
        &header("<u2"),
        &[255, 255, 1, 0],
        DType::I64,
        &[65535.0, 1.0],
        &[2],
    );
    let data = [[1_u64.to_le_bytes()], [u64::MAX.to_le_bytes()]]
        .concat()
        .concat();
    refuse(
        &file(1, &header("<u8"), &data),
        "integers beyond int64 are not read",
    );
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
    let tensor = Tensor::new(&[[1_f32, -2.5, 3.0]], &Device::Cpu).unwrap();
    let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3), }";
    // np.lib.format fills the header to 118 bytes.
    let header = format!("{header:<117}\n");
    let data: Vec<u8> = [1_f32, -2.5, 3.0]
        .iter()
        .flat_map(|x| x.to_le_bytes())
        .collect();
    assert_eq!(write(&tensor).unwrap(), file(1, &header, &data));
}
