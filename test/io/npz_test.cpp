// SPDX-License-Identifier: Apache-2.0

// Files of scipy.sparse.save_npz, made here byte by byte: formats, types, archives, and damage.
#include "kinds.hpp"

#include <complex>
#include <utility>
#include <vector>

namespace tulle::test::npz_test {
namespace {

file_hint const npz{.kind = file_kind::npz};
using complex = std::complex<double>;

struct archive_options {
  bool packed = false;
  bool zip64 = false; ///< sizes in zip64 fields, of local headers and of the directory
  std::string comment = {};
};

std::string deflated(std::string const& text) {
  z_stream z{};
  deflateInit2(&z, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&z, text.size()) + 64, '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  z.avail_in = static_cast<uInt>(text.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  deflate(&z, Z_FINISH);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using members = std::vector<std::pair<std::string, std::string>>;

std::string zip(members const& all, archive_options const& o = {}) {
  std::string out, directory;
  for (auto const& [name, text] : all) {
    std::string const data = o.packed ? deflated(text) : text;
    auto const crc = static_cast<u32>(
        crc32(0, reinterpret_cast<Bytef const*>(text.data()), static_cast<uInt>(text.size())));
    auto const packed = static_cast<u32>(data.size());
    auto const size = static_cast<u32>(text.size());
    std::string const common =
        bytes_of<u16>(0) + bytes_of<u16>(o.packed ? 8 : 0) + bytes_of<u32>(0) + bytes_of(crc) +
        bytes_of(o.zip64 ? ~u32{0} : packed) + bytes_of(o.zip64 ? ~u32{0} : size) +
        bytes_of(static_cast<u16>(name.size()));
    std::string const extra =
        o.zip64 ? bytes_of<u16>(1) + bytes_of<u16>(16) + bytes_of<u64>(size) + bytes_of<u64>(packed)
                : "";
    directory += "PK\1\2" + bytes_of<u16>(45) + bytes_of<u16>(45) + common +
                 bytes_of(static_cast<u16>(extra.size())) + bytes_of<u16>(0) + bytes_of<u16>(0) +
                 bytes_of<u16>(0) + bytes_of<u32>(0) + bytes_of(static_cast<u32>(out.size())) +
                 name + extra;
    out += "PK\3\4" + bytes_of<u16>(45) + common + bytes_of(static_cast<u16>(extra.size())) + name +
           extra + data;
  }
  auto const at = static_cast<u64>(out.size());
  auto const count = static_cast<u16>(all.size());
  out += directory;
  if (o.zip64) {
    auto const end = static_cast<u64>(out.size());
    out += "PK\6\6" + bytes_of<u64>(44) + bytes_of<u16>(45) + bytes_of<u16>(45) + bytes_of<u32>(0) +
           bytes_of<u32>(0) + bytes_of<u64>(count) + bytes_of<u64>(count) +
           bytes_of<u64>(directory.size()) + bytes_of(at);
    out += "PK\6\7" + bytes_of<u32>(0) + bytes_of(end) + bytes_of<u32>(1);
  }
  out += "PK\5\6" + bytes_of<u16>(0) + bytes_of<u16>(0) + bytes_of(count) + bytes_of(count) +
         bytes_of(static_cast<u32>(directory.size())) +
         bytes_of(o.zip64 ? ~u32{0} : static_cast<u32>(at)) +
         bytes_of(static_cast<u16>(o.comment.size())) + o.comment;
  return out;
}

std::string npy(std::string const& descr, std::string const& shape, std::string const& data,
                int version = 1, bool fortran = false) {
  std::string head = "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") +
                     ", 'shape': " + shape + ", }";
  head.resize((head.size() / 64 + 1) * 64 - 1, ' ');
  head += '\n';
  return std::string("\x93NUMPY") + static_cast<char>(version) + '\0' +
         (version == 1 ? bytes_of(static_cast<u16>(head.size()))
                       : bytes_of(static_cast<u32>(head.size()))) +
         head + data;
}

template <class T>
std::string of(std::vector<double> const& values, bool big = false) {
  std::string out;
  for (double const v : values)
    out += bytes_of(static_cast<T>(v), big);
  return out;
}
/// An array of one dimension.
template <class T>
std::string vector(std::string const& descr, std::vector<double> const& values, int version = 1) {
  return npy(descr, "(" + std::to_string(values.size()) + ",)", of<T>(values, descr[0] == '>'),
             version);
}
std::string format(std::string const& name) {
  return npy("|S" + std::to_string(name.size()), "()", name);
}
std::string ints(std::vector<double> const& values) {
  return vector<std::int32_t>("<i4", values);
}
std::string doubles(std::vector<double> const& values) {
  return vector<double>("<f8", values);
}

members example_csr() { // example() of files.hpp
  return {{"indices.npy", ints({0, 2, 1, 3, 0, 1, 2})},
          {"indptr.npy", ints({0, 2, 3, 4, 7})},
          {"format.npy", format("csr")},
          {"shape.npy", vector<std::int64_t>("<i8", {4, 4})},
          {"data.npy", doubles({1, 2, 3, 4, 5, 6, 7})}};
}
/// example_csr() with some members replaced; those of no text are left out.
members with(members const& changes) {
  members out = example_csr();
  for (auto const& [name, text] : changes) {
    auto const old =
        std::find_if(out.begin(), out.end(), [&name = name](auto& m) { return m.first == name; });
    if (old == out.end())
      out.emplace_back(name, text);
    else if (text.empty())
      out.erase(old);
    else
      old->second = text;
  }
  return out;
}
std::string error(members const& changes) {
  return error_in_kind(zip(with(changes)), npz);
}

TEST(npz, archives_of_every_shape) {
  for (bool const packed : {false, true})
    for (bool const zip64 : {false, true})
      for (std::string const comment : {"", "a comment"})
        EXPECT_EQ(read_kind(zip(example_csr(), {packed, zip64, comment})), example());
  EXPECT_EQ(read_kind(gzip(zip(example_csr()))), example());
}

TEST(npz, five_formats) {
  EXPECT_EQ(read_kind(zip(with({{"format.npy", format("csc")},
                                {"indices.npy", ints({0, 3, 1, 3, 0, 3, 2})},
                                {"indptr.npy", ints({0, 2, 4, 6, 7})},
                                {"data.npy", doubles({1, 5, 3, 6, 2, 7, 4})}}))),
            example());
  EXPECT_EQ(read_kind(zip(with({{"format.npy", format("coo")},
                                {"row.npy", ints({3, 0, 3, 2, 1, 0, 3})},
                                {"col.npy", ints({2, 2, 0, 3, 1, 0, 1})},
                                {"data.npy", doubles({7, 2, 5, 4, 3, 1, 6})}}))),
            example());
  for (bool const fortran : {false, true})
    EXPECT_EQ(
        read_kind(zip(
            with({{"format.npy", format("coo")},
                  {"coords.npy",
                   npy("<i4", "(2, 7)",
                       of<std::int32_t>(
                           fortran ? std::vector<double>{0, 0, 0, 2, 1, 1, 2, 3, 3, 0, 3, 1, 3, 2}
                                   : std::vector<double>{0, 0, 1, 2, 3, 3, 3, 0, 2, 1, 3, 0, 1, 2}),
                       1, fortran)}}))),
        example());
  // Two blocks of 1 x 2 in a 2 x 4 matrix.
  for (bool const fortran : {false, true})
    EXPECT_EQ(
        read_kind(zip(with({{"format.npy", format("bsr")},
                            {"shape.npy", ints({2, 4})},
                            {"indices.npy", ints({1, 0})},
                            {"indptr.npy", ints({0, 1, 2})},
                            {"data.npy", npy("<f8", "(2, 1, 2)",
                                             of<double>(fortran ? std::vector<double>{1, 3, 2, 4}
                                                                : std::vector<double>{1, 2, 3, 4}),
                                             1, fortran)}}))),
        (csr<double>{2, 4, {0, 2, 4}, {2, 3, 0, 1}, {1, 2, 3, 4}}));
  // Padding outside of the matrix and zeros are left out.
  EXPECT_EQ(
      read_kind(zip(with(
          {{"format.npy", format("dia")},
           {"shape.npy", ints({2, 3})},
           {"offsets.npy", ints({1, 0, -1, 99})},
           {"data.npy", npy("<f8", "(4, 3)", of<double>({9, 1, 2, 3, 4, 9, 5, 9, 9, 8, 8, 8}))}}))),
      (csr<double>{2, 3, {0, 2, 5}, {0, 1, 0, 1, 2}, {3, 1, 5, 4, 2}}));
}

template <class T>
void reads_values(std::string const& type) {
  for (std::string const order : {"<", ">"})
    for (int const version : {1, 2, 3})
      EXPECT_EQ(read_kind(zip(
                    with({{"data.npy", vector<T>(order + type, {1, 2, 3, 4, 5, 6, 7}, version)}}))),
                example())
          << order << type;
}
template <class T>
void reads_indices(std::string const& type) {
  for (std::string const order : {"<", ">"})
    EXPECT_EQ(read_kind(zip(with({{"indices.npy", vector<T>(order + type, {0, 2, 1, 3, 0, 1, 2})},
                                  {"indptr.npy", vector<T>(order + type, {0, 2, 3, 4, 7})},
                                  {"shape.npy", vector<T>(order + type, {4, 4})}}))),
              example())
        << order << type;
}

TEST(npz, every_type_in_both_orders) {
  reads_values<std::int8_t>("i1");
  reads_values<std::int16_t>("i2");
  reads_values<std::int32_t>("i4");
  reads_values<std::int64_t>("i8");
  reads_values<std::uint8_t>("u1");
  reads_values<std::uint16_t>("u2");
  reads_values<std::uint32_t>("u4");
  reads_values<std::uint64_t>("u8");
  reads_values<float>("f4");
  reads_values<double>("f8");
  reads_indices<std::int8_t>("i1");
  reads_indices<std::int16_t>("i2");
  reads_indices<std::int32_t>("i4");
  reads_indices<std::int64_t>("i8");
  reads_indices<std::uint8_t>("u1");
  reads_indices<std::uint16_t>("u2");
  reads_indices<std::uint32_t>("u4");
  reads_indices<std::uint64_t>("u8");
  EXPECT_EQ(read_kind(zip(with({{"data.npy", vector<char>("|b1", {1, 0, 1, 1, 1, 1, 1})}}))).val,
            (array<double>{1, 0, 1, 1, 1, 1, 1}));
  for (bool const big : {false, true}) {
    std::vector<double> const parts{1, 9, 2, 9, 3, 9, 4, 9, 5, 9, 6, 9, 7, -1};
    array<complex> const expected{{1, 9}, {2, 9}, {3, 9}, {4, 9}, {5, 9}, {6, 9}, {7, -1}};
    std::string const order = big ? ">" : "<";
    EXPECT_EQ(read_kind<complex>(
                  zip(with({{"data.npy", npy(order + "c16", "(7,)", of<double>(parts, big))}})))
                  .val,
              expected);
    EXPECT_EQ(read_kind<complex>(
                  zip(with({{"data.npy", npy(order + "c8", "(7,)", of<float>(parts, big))}})))
                  .val,
              expected);
  }
}

TEST(npz, the_format_may_be_unicode) {
  std::string text;
  for (char const c : std::string("csr"))
    text += bytes_of(static_cast<u32>(c));
  EXPECT_EQ(read_kind(zip(with({{"format.npy", npy("<U3", "()", text)}}))), example());
  text.clear();
  for (char const c : std::string("csr"))
    text += bytes_of(static_cast<u32>(c), true);
  EXPECT_EQ(read_kind(zip(with({{"format.npy", npy(">U3", "()", text)}}))), example());
}

TEST(npz, the_header_tells_the_field) {
  auto const field = [](std::string const& data) {
    std::istringstream in(zip(with({{"data.npy", data}})));
    return matrix_file(in).header().field;
  };
  using matrix_market::field;
  std::vector<double> const v{1, 2, 3, 4, 5, 6, 7};
  EXPECT_EQ(field(vector<float>("<f4", v)), matrix_market::field::real);
  EXPECT_EQ(field(vector<std::int8_t>("|i1", v)), matrix_market::field::integer);
  EXPECT_EQ(field(vector<std::uint8_t>("|u1", v)), matrix_market::field::unsigned_integer);
}

TEST(npz, bad_members_are_told) {
  EXPECT_EQ(error({{"format.npy", ""}}),
            "io: stream: has no member format.npy, so it is no matrix of scipy.sparse.save_npz");
  EXPECT_EQ(error({{"indptr.npy", ""}}), "io: stream: has no member indptr.npy");
  EXPECT_EQ(error({{"format.npy", format("lil")}}),
            "unsupported: stream: a matrix in format 'lil'; read are csr, csc, coo, bsr, dia");
  EXPECT_EQ(error({{"format.npy", ints({1})}}),
            "io: stream: format.npy, byte 0: expected the name of a format");
  EXPECT_EQ(error({{"shape.npy", ints({4})}}),
            "unsupported: stream: an array of 1 dimensions, of which only 2 are read");
  EXPECT_EQ(error({{"shape.npy", ints({-4, 4})}}),
            "io: stream: shape.npy, byte 74: the number of rows -4 is outside "
            "0..9223372036854775806");
  EXPECT_EQ(error({{"shape.npy", doubles({4, 4})}}),
            "io: stream: shape.npy, byte 0: expected integers, found '<f8'");
  EXPECT_EQ(error({{"shape.npy", ints({5, 4})}}),
            "io: stream: indptr.npy, byte 0: expected 5 + 1 pointers, found 5");
  EXPECT_EQ(error({{"indptr.npy", ints({1, 2, 3, 4, 7})}}),
            "io: stream: indptr.npy, byte 74: the first pointer is 1, expected 0");
  EXPECT_EQ(error({{"indptr.npy", ints({0, 3, 2, 4, 7})}}),
            "io: stream: indptr.npy, byte 82: pointer 2 is outside 3..7");
  EXPECT_EQ(error({{"indptr.npy", ints({0, 2, 3, 4, 8})}}),
            "io: stream: indptr.npy, byte 90: pointer 8 is outside 4..7");
  EXPECT_EQ(error({{"indices.npy", ints({0, 2, 1, 4, 0, 1, 2})}}),
            "io: stream: indices.npy, byte 86: column 4 is outside 0..3");
  EXPECT_EQ(error({{"indices.npy", ints({0, -2, 1, 3, 0, 1, 2})}}),
            "io: stream: indices.npy, byte 78: column -2 is outside 0..3");
  EXPECT_EQ(error({{"data.npy", npy("<f8", "(7, 1)", std::string(56, '\0'))}}),
            "io: stream: data.npy, byte 0: expected an array of 1 dimensions, found 2");
  EXPECT_EQ(error({{"format.npy", format("coo")}, {"row.npy", ints({1})}, {"col.npy", ints({1})}}),
            "io: stream: row.npy, byte 0: expected 7 indices as there are values, found 1");
  EXPECT_EQ(error({{"format.npy", format("dia")}, {"offsets.npy", ints({1})}}),
            "io: stream: data.npy, byte 0: expected an array of 2 dimensions, found 1");
  EXPECT_EQ(error({{"format.npy", format("bsr")},
                   {"data.npy", npy("<f8", "(1, 3, 2)", std::string(48, '\0'))}}),
            "io: stream: data.npy, byte 0: blocks of 3 x 2 do not tile a matrix of 4 x 4");
}

TEST(npz, bad_arrays_are_told) {
  auto const data = [](std::string const& text) { return error({{"data.npy", text}}); };
  EXPECT_EQ(data("no"), "io: stream: data.npy, byte 0: expected the magic word of a .npy array");
  EXPECT_EQ(data(vector<double>("<f8", {1}, 4)),
            "io: stream: data.npy, byte 6: expected version 1, 2 or 3 of .npy, found 4");
  EXPECT_EQ(data(std::string("\x93NUMPY\1\0\xff\xff{}", 12)),
            "io: stream: data.npy, byte 8: a header of 65535 bytes, but 2 follow");
  EXPECT_EQ(
      data(npy("|O", "(7,)", "")),
      "unsupported: stream: data.npy: elements of type '|O'; read are bool, integers, float32, "
      "float64, complex64, complex128");
  EXPECT_EQ(data(npy("<f16", "(7,)", "")).substr(0, 49),
            "unsupported: stream: data.npy: elements of type '");
  EXPECT_EQ(data(npy("<f8", "(7,)", "short")),
            "io: stream: data.npy, byte 74: expected 7 elements of 8 bytes, but 5 bytes follow");
  EXPECT_EQ(data(npy("<f8", "(4000000000, 4000000000, 4000000000)", "")),
            "io: stream: data.npy, byte 10: its dimensions are too large");
  EXPECT_EQ(data(npy("<f8", "(99999999999999999999,)", "")),
            "io: stream: data.npy, byte 80: a dimension is too large");
  EXPECT_EQ(data(npy("<f8", "(-1,)", "")), "io: stream: data.npy, byte 61: expected a dimension");
  EXPECT_EQ(data(npy("<f8', 'x': 'y", "(7,)", "")),
            "io: stream: data.npy, byte 31: expected descr, fortran_order or shape, found another "
            "key");
  EXPECT_EQ(data(npy("<f8', 'shape' '", "(7,)", "")),
            "io: stream: data.npy, byte 35: expected ':' in the header of the array");
}

TEST(npz, bad_archives_are_told) {
  std::string const good = zip(example_csr(), {.packed = true});
  EXPECT_EQ(error_in_kind("PK\3\4", npz),
            "io: stream: 4 bytes are no zip archive, which has at least 22");
  EXPECT_NE(error_in_kind(good.substr(0, good.size() - 1), npz).find("has no end record"),
            std::string::npos);
  std::string text = good; // the first byte of indices.npy, deflated
  text[30 + 11 + 2] = static_cast<char>(text[43] ^ 0xff);
  EXPECT_NE(error_in_kind(text, npz).find("member indices.npy is damaged"), std::string::npos);
  text = zip(example_csr());
  text[41 + 74] = 9; // an index, stored
  EXPECT_EQ(error_in_kind(text, npz),
            "io: stream: byte 41: member indices.npy is damaged: its checksum differs");
  text = good;
  text[6 + text.find("PK\1\2") + 2] = 1; // encrypted
  EXPECT_EQ(error_in_kind(text, npz), "unsupported: stream: member indices.npy is encrypted");
  text = good;
  text[8 + text.find("PK\1\2") + 2] = 12;
  EXPECT_EQ(error_in_kind(text, npz),
            "unsupported: stream: member indices.npy is compressed by method 12; stored and "
            "deflated are read");
}

TEST(npz, a_bomb_is_defused) {
  std::string const bomb = zip(
      with({{"data.npy", npy("|i1", "(4000000,)", std::string(4000000, '\0'))}}), {.packed = true});
  ASSERT_LT(bomb.size(), std::size_t{8} << 10);
  EXPECT_EQ(read_kind(bomb).val.size(), 7u);
  peak_memory memory;
  auto const e = error_in_kind(bomb, npz, {.memory = &memory, .max_bytes = 1 << 20});
  EXPECT_EQ(e.substr(0, e.find("hold more")),
            "out_of_memory: stream: member data.npy and those before it ");
  // The same without a limit where the archive claims more than 64 MiB.
  std::string claim = zip(example_csr(), {.packed = true});
  claim.replace(claim.find("PK\1\2") + 24, 4, bytes_of(u32{1} << 31));
  EXPECT_EQ(error_in_kind(claim, npz, {.memory = &memory}).substr(0, 14), "out_of_memory:");
  claim.replace(claim.find("PK\1\2") + 24, 4, bytes_of(u32{60} << 20));
  EXPECT_EQ(error_in_kind(claim, npz, {.memory = &memory}).substr(0, 11), "io: stream:");
  EXPECT_LT(memory.peak(), std::size_t{8} << 20);
}

TEST(npz, many_rows_are_paid_for_by_what_is_inflated) {
  std::size_t const rows = 6000000;
  std::string const text =
      zip(with({{"shape.npy", ints({static_cast<double>(rows), 1})},
                {"indptr.npy",
                 npy("|i1", "(" + std::to_string(rows + 1) + ",)", std::string(rows + 1, '\0'))}}),
          {.packed = true});
  EXPECT_EQ(read_kind(text).rows, static_cast<int>(rows));
}

TEST(npz, survives_damage) {
  members const small{{"indices.npy", ints({0, 1})},
                      {"indptr.npy", ints({0, 1, 2})},
                      {"format.npy", format("csr")},
                      {"shape.npy", ints({2, 2})},
                      {"data.npy", doubles({1, 2})}};
  EXPECT_EQ(survives_damage(zip(small), npz), 0);
  EXPECT_EQ(survives_damage(zip(small, {.packed = true, .zip64 = true}), npz), 0);
}

/// A byte of the arrays is changed under a checksum that fits.
TEST(npz, survives_damage_inside_of_arrays) {
  for (std::string const kind : {"csr", "csc", "coo", "bsr", "dia"}) {
    members small{{"format.npy", format(kind)}, {"shape.npy", ints({2, 2})}};
    if (kind == "coo") {
      small.emplace_back("row.npy", ints({0, 1}));
      small.emplace_back("col.npy", ints({1, 0}));
    } else if (kind == "dia") {
      small.emplace_back("offsets.npy", ints({0, 1}));
    } else {
      small.emplace_back("indices.npy", ints({0, 1}));
      small.emplace_back("indptr.npy", ints({0, 1, 2}));
    }
    small.emplace_back("data.npy", kind == "bsr"   ? npy("<f8", "(2, 1, 1)", of<double>({1, 2}))
                                   : kind == "dia" ? npy("<f8", "(2, 2)", of<double>({1, 2, 3, 4}))
                                                   : doubles({1, 2}));
    EXPECT_TRUE(survives(zip(small), npz)) << kind;
    for (auto& [name, text] : small)
      for (char& c : text)
        for (char const other : {'\0', '\xff', '\x7f', '9', '('}) {
          char const old = std::exchange(c, other);
          survives(zip(small), npz);
          c = old;
        }
  }
}

} // namespace
} // namespace tulle::test::npz_test
