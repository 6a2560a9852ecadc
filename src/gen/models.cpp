// SPDX-License-Identifier: Apache-2.0
//
// The matrices that have a stand-in. Rows, columns and entries are the papers', to the last digit
// from the SuiteSparse Matrix Collection where they round; where a table counts one triangle of a
// symmetric matrix, both are meant here. D gives no shortest rows: most of its graphs have vertices
// without edges. The spread is published for D, elsewhere a guess.
#include "gen/like.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>

namespace tulle::gen {
namespace {

using enum structure;

// clang-format off
constexpr model table[] = {
    // name, aliases, rows, cols, nnz, min, max, spread, structure, block, known, sources
    {"2cubes_sphere", "", 101492, 101492, 1647264, 5, 31, .2F, blocks, 1, true, "L"},
    {"ASIC_680k", "", 682862, 682862, 3871773, 1, 395259, .6F, circuit, 1, true, "L"},
    {"boyd2", "", 466316, 466316, 1500397, 2, 93262, .5F, circuit, 1, true, "L"},
    {"cage12", "", 130228, 130228, 2032536, 5, 33, .3F, blocks, 1, true, "L"},
    {"scircuit", "Circuit", 170998, 170998, 958936, 1, 353, .8F, circuit, 1, true, "L"},
    {"circuit5M", "", 5558326, 5558326, 59524291, 1, 1290501, .8F, circuit, 1, true, "L"},
    {"dc2", "", 116835, 116835, 766396, 1, 114190, .6F, circuit, 1, true, "L"},
    {"Dense", "dense2", 2000, 2000, 4000000, 2000, 2000, 0, dense, 1, true, "L"},
    {"mac_econ_fwd500", "Economics", 206500, 206500, 1273389, 1, 44, .7F, circuit, 1, true, "L"},
    {"mc2depi", "Epidemiology", 525825, 525825, 2100225, 2, 4, .02F, stencil, 1, true, "L"},
    {"eu-2005", "", 862664, 862664, 19235140, 0, 6985, 1.3F, web, 1, true, "LD"},
    {"cop20k_A", "FEM/Accelerator", 121192, 121192, 2624331, 0, 81, .6F, blocks, 1, true, "L"},
    {"cant", "FEM/Cantilever", 62451, 62451, 4007383, 1, 78, .22F, blocks, 3, true, "L"},
    {"rma10", "FEM/Harbor", 46835, 46835, 2329092, 4, 145, .55F, blocks, 5, true, "L"},
    {"shipsec1", "FEM/Ship", 140874, 140874, 7813404, 24, 102, .2F, blocks, 3, true, "L"},
    {"consph", "FEM/Spheres", 83334, 83334, 6010480, 1, 81, .26F, blocks, 3, true, "L"},
    {"filter3D", "", 106437, 106437, 2707179, 8, 112, .4F, blocks, 1, true, "L"},
    {"FullChip", "", 2987012, 2987012, 26621983, 1, 2312481, .8F, circuit, 1, true, "L"},
    {"Ga41As41H72", "", 268096, 268096, 18488476, 18, 702, 1.5F, blocks, 1, true, "L"},
    {"hood", "", 220542, 220542, 10768436, 21, 77, .3F, blocks, 3, true, "L"},
    {"in-2004", "", 1382908, 1382908, 16917053, 0, 7753, 3.0F, web, 1, true, "LD"},
    {"ins2", "", 309412, 309412, 2751484, 5, 309412, .2F, circuit, 1, true, "L"},
    {"rail4284", "LP", 4284, 1096894, 11284032, 1, 56181, 1.5F, uniform, 1, true, "LD"},
    {"m133-b3", "", 200200, 200200, 800800, 4, 4, 0, uniform, 1, true, "L"},
    {"majorbasis", "", 160000, 160000, 1750416, 6, 11, .05F, stencil, 1, true, "L"},
    {"mario002", "", 389874, 389874, 2097566, 2, 7, .2F, stencil, 1, true, "L"},
    {"mip1", "", 66463, 66463, 10352819, 4, 66395, 1.0F, circuit, 1, true, "L"},
    {"mono_500Hz", "", 169410, 169410, 5033796, 10, 719, .4F, blocks, 1, true, "L"},
    {"offshore", "", 259789, 259789, 4242673, 5, 31, .2F, blocks, 1, true, "L"},
    {"patents_main", "", 240547, 240547, 560943, 0, 206, 1.8F, social, 1, true, "L"},
    {"poisson3Da", "", 13514, 13514, 352762, 6, 110, .5F, blocks, 1, true, "L"},
    {"pdb1HYS", "Protein", 36417, 36417, 4344765, 18, 204, .27F, blocks, 3, true, "L"},
    {"conf5_4-8x8-20", "QCD qcd5_4 conf5.4-00l8x8-2000 conf5_4-8x8-05",
     49152, 49152, 1916928, 39, 39, 0, blocks, 3, true, "L"},
    {"rajat21", "", 411676, 411676, 1876011, 1, 118689, .5F, circuit, 1, true, "L"},
    {"Si41Ge41H72", "", 185639, 185639, 15011265, 13, 662, 1.5F, blocks, 1, true, "L"},
    {"transient", "", 178866, 178866, 961368, 1, 60423, .7F, circuit, 1, true, "L"},
    {"webbase-1M", "Webbase", 1000005, 1000005, 3105536, 1, 4700, 8.0F, web, 1, true, "LD"},
    {"pwtk", "Wind_Tunnel", 217918, 217918, 11524432, 2, 180, .1F, blocks, 6, true, "L"},

    {"fidap037", "", 3565, 3565, 67591, 4, 81, .3F, blocks, 1, false, "Y"},
    {"s3rmt3m3", "", 5357, 5357, 207123, 12, 48, .2F, blocks, 6, false, "Y"},
    {"bcsstk17", "", 10974, 10974, 428650, 1, 150, .4F, blocks, 6, false, "Y"},
    {"memplus", "", 17758, 17758, 99147, 1, 353, 1.5F, circuit, 1, true, "Y"},
    {"lhr34", "", 35152, 35152, 746972, 1, 63, .9F, blocks, 2, false, "Y"},
    {"bcsstk32", "", 44609, 44609, 2014701, 2, 216, .35F, blocks, 6, false, "Y"},
    {"s3dkt3m2", "", 90449, 90449, 3753461, 12, 42, .05F, blocks, 6, false, "Y"},
    {"RM07R", "", 381689, 381689, 37464962, 1, 295, .7F, blocks, 7, false, "Y"},
    {"Emilia_923", "", 923136, 923136, 40373538, 15, 57, .1F, blocks, 3, false, "Y"},
    {"cage14", "", 1505785, 1505785, 27130349, 5, 41, .3F, blocks, 1, false, "Y"},
    {"cage15", "", 5154859, 5154859, 99199551, 3, 47, .3F, blocks, 1, false, "Y"},
    {"adaptive", "", 6815744, 6815744, 27248640, 2, 4, .02F, stencil, 1, false, "Y"},
    {"lp_qap15", "qap15", 6330, 22275, 94950, 15, 15, 0, uniform, 1, true, "Y"},
    {"rhpentium_new", "rhpentium", 25187, 25187, 258265, 1, 500, 1.0F, circuit, 1, false, "Y"},
    {"Andrews", "", 60000, 60000, 760154, 9, 36, .2F, uniform, 1, false, "Y"},
    {"tbdlinux", "", 112757, 20167, 2157675, 1, 15000, 8.0F, social, 1, false, "Y"},
    {"nd24k", "", 72000, 72000, 28715634, 110, 520, .2F, blocks, 1, false, "Y"},
    {"lp_nug30", "nug30", 52260, 379350, 1567800, 30, 30, 0, uniform, 1, true, "Y"},
    {"Stanford_Berkeley", "", 683446, 683446, 7583376, 0, 83448, 8.0F, web, 1, false, "Y"},
    {"ldoor", "", 952203, 952203, 46522475, 28, 77, .25F, blocks, 7, false, "Y"},
    {"wikipedia-20051105", "wikipedia-2005",
     1634989, 1634989, 19753078, 0, 4970, 2.6F, social, 1, true, "YD"},
    {"wikipedia-20061104", "wikipedia-2006",
     3148440, 3148440, 39383235, 0, 6576, 2.6F, social, 1, false, "Y"},
    {"wikipedia-20070206", "wikipedia-2007",
     3566907, 3566907, 45030389, 0, 7061, 2.6F, social, 1, false, "Y"},

    {"amazon-2008", "", 735323, 735323, 5158388, 0, 10, .6F, web, 1, true, "D"},
    {"cnr-2000", "", 325557, 325557, 3216152, 0, 2716, 2.1F, web, 1, true, "D"},
    {"dblp-2010", "", 326186, 326186, 1615400, 0, 238, 1.6F, web, 1, true, "D"},
    {"enron", "", 69244, 69244, 276143, 0, 1392, 8.0F, social, 1, true, "D"},
    {"flickr", "", 820878, 820878, 9837214, 0, 10272, 7.3F, social, 1, false, "D"},
    {"hollywood-2009", "", 1139905, 1139905, 113891327, 1, 11468, 2.7F, social, 1, false, "D"},
    {"indochina-2004", "", 7414866, 7414866, 194109311, 0, 6985, 8.3F, web, 1, true, "D"},
    {"internet", "", 124651, 124651, 207214, 0, 138, 2.5F, social, 1, true, "D"},
    {"kron_g500-logn18", "kron-18",
     262144, 262144, 21165908, 0, 49164, 6.0F, social, 1, false, "D"},
    {"ljournal-2008", "", 5363260, 5363260, 79023142, 0, 2469, 2.5F, social, 1, true, "D"},
    {"soc-LiveJournal1", "", 4847571, 4847571, 68993773, 0, 20293, 2.5F, social, 1, false, "D"},
};
// clang-format on

/// Equal but for case and everything that is neither letter nor digit: "FEM/Ship" is "fem-ship".
bool same_name(std::string_view a, std::string_view b) {
  auto const plain = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  auto const lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  std::size_t i = 0;
  std::size_t j = 0;
  for (;; ++i, ++j) {
    while (i < a.size() && !plain(a[i]))
      ++i;
    while (j < b.size() && !plain(b[j]))
      ++j;
    if (i == a.size() || j == b.size())
      return i == a.size() && j == b.size();
    if (lower(a[i]) != lower(b[j]))
      return false;
  }
}

} // namespace

std::span<model const> models() {
  return table;
}

std::size_t find_model(std::string_view name) {
  for (std::size_t k = 0; k < std::size(table); ++k) {
    if (same_name(name, table[k].name))
      return k;
    std::string_view rest = table[k].aliases;
    while (!rest.empty()) {
      std::size_t const end = std::min(rest.find(' '), rest.size());
      if (same_name(name, rest.substr(0, end)))
        return k;
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return std::size(table);
}

} // namespace tulle::gen
