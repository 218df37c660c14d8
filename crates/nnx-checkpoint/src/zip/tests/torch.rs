//! A file that the real library wrote.

/// `torch.save({"w": torch.tensor([1.0, 2.0]), "e": torch.empty(0)}, file)` of torch 2.15.
#[rustfmt::skip]
pub(crate) const ARCHIVE: &[u8] = b"PK\x03\x04\0\0\x08\x08\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x10\0\x12\0archive/data.pklFB\x0e\
\0ZZZZZZZZZZZZZZ\x80\x02}q\0(X\x01\0\0\0wq\x01ctorch._utils\n_rebuild_tensor_v2\nq\x02((X\x07\
\0\0\0storageq\x03ctorch\nFloatStorage\nq\x04X\x01\0\0\x000q\x05X\x03\0\0\0cpuq\x06K\x02tq\x07\
QK\0K\x02\x85q\x08K\x01\x85q\x09\x89ccollections\nOrderedDict\nq\n)Rq\x0btq\x0cRq\x0dX\x01\0\
\0\0eq\x0eh\x02((h\x03h\x04X\x01\0\0\x001q\x0fh\x06K\0tq\x10QK\0K\0\x85q\x11K\x01\x85q\x12\x89\
h\n)Rq\x13tq\x14Rq\x15u.PK\x07\x08.[R\x84\xdc\0\0\0\xdc\0\0\0PK\x03\x04\0\0\x08\x08\0\0\0\0\0\
\0\0\0\0\0\0\0\0\0\0\0\0\0\x17\0\x1f\0archive/.format_versionFB\x1b\0ZZZZZZZZZZZZZZZZZZZZZZZ\
ZZZZ1PK\x07\x08\xb7\xef\xdc\x83\x01\0\0\0\x01\0\0\0PK\x03\x04\0\0\x08\x08\0\0\0\0\0\0\0\0\0\0\
\0\0\0\0\0\0\0\0\x1a\x007\0archive/.storage_alignmentFB3\0ZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZ\
ZZZZZZZZZZZZZZZ64PK\x07\x08?wq\xe9\x02\0\0\0\x02\0\0\0PK\x03\x04\0\0\x08\x08\0\0\0\0\0\0\0\0\
\0\0\0\0\0\0\0\0\0\0\x11\0?\0archive/byteorderFB;\0ZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZ\
ZZZZZZZZZZZZZZZZZZlittlePK\x07\x08\x85=\xe3\x19\x06\0\0\0\x06\0\0\0PK\x03\x04\0\0\x08\x08\0\0\
\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x0e\0>\0archive/data/0FB:\0ZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZ\
ZZZZZZZZZZZZZZZZZZZZZZZZZZ\0\0\x80?\0\0\0@PK\x07\x08v\xa5?.\x08\0\0\0\x08\0\0\0PK\x03\x04\0\0\
\0\x08\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x0e\0<\0archive/data/1FB8\0ZZZZZZZZZZZZZZZZZZZZZZ\
ZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZPK\x03\x04\0\0\x08\x08\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\
\x0f\0\x13\0archive/versionFB\x0f\0ZZZZZZZZZZZZZZZ3\nPK\x07\x08\xd1\x9egU\x02\0\0\0\x02\0\0\0\
PK\x03\x04\0\0\x08\x08\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x1e\x002\0archive/.data/serializati\
on_idFB.\0ZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZ056110852361967052940550563951045063\
1932PK\x07\x08>7Vc(\0\0\0(\0\0\0PK\x01\x02\0\0\0\0\x08\x08\0\0\0\0\0\0.[R\x84\xdc\0\0\0\xdc\0\
\0\0\x10\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0archive/data.pklPK\x01\x02\0\0\0\0\x08\x08\0\0\0\0\
\0\0\xb7\xef\xdc\x83\x01\0\0\0\x01\0\0\0\x17\0\0\0\0\0\0\0\0\0\0\0\0\0,\x01\0\0archive/.form\
at_versionPK\x01\x02\0\0\0\0\x08\x08\0\0\0\0\0\0?wq\xe9\x02\0\0\0\x02\0\0\0\x1a\0\0\0\0\0\0\0\
\0\0\0\0\0\0\x91\x01\0\0archive/.storage_alignmentPK\x01\x02\0\0\0\0\x08\x08\0\0\0\0\0\0\x85\
=\xe3\x19\x06\0\0\0\x06\0\0\0\x11\0\0\0\0\0\0\0\0\0\0\0\0\0\x12\x02\0\0archive/byteorderPK\x01\
\x02\0\0\0\0\x08\x08\0\0\0\0\0\0v\xa5?.\x08\0\0\0\x08\0\0\0\x0e\0\0\0\0\0\0\0\0\0\0\0\0\0\x96\
\x02\0\0archive/data/0PK\x01\x02\0\0\0\0\0\x08\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x0e\0\0\0\
\0\0\0\0\0\0\0\0\0\0\x18\x03\0\0archive/data/1PK\x01\x02\0\0\0\0\x08\x08\0\0\0\0\0\0\xd1\x9e\
gU\x02\0\0\0\x02\0\0\0\x0f\0\0\0\0\0\0\0\0\0\0\0\0\0\x80\x03\0\0archive/versionPK\x01\x02\0\0\
\0\0\x08\x08\0\0\0\0\0\0>7Vc(\0\0\0(\0\0\0\x1e\0\0\0\0\0\0\0\0\0\0\0\0\0\xd2\x03\0\0archive/\
.data/serialization_idPK\x06\x06,\0\0\0\0\0\0\0\x1e\x03-\0\0\0\0\0\0\0\0\0\x08\0\0\0\0\0\0\0\
\x08\0\0\0\0\0\0\0\x0b\x02\0\0\0\0\0\0x\x04\0\0\0\0\0\0PK\x06\x07\0\0\0\0\x83\x06\0\0\0\0\0\0\
\x01\0\0\0PK\x05\x06\0\0\0\0\x08\0\x08\0\x0b\x02\0\0x\x04\0\0\0\0";

/// Its records in order, without the root folder `archive` and the serialization id, each with the
/// offset of its local header and its bytes.
pub(crate) const RECORDS: &[(&str, u64, u64)] = &[
    ("data.pkl", 0, 220),
    (".format_version", 300, 1),
    (".storage_alignment", 401, 2),
    ("byteorder", 530, 6),
    ("data/0", 662, 8),
    ("data/1", 792, 0),
    ("version", 896, 2),
];

/// Where its central directory begins.
pub(crate) const DIRECTORY: usize = 1_144;
