// SPDX-License-Identifier: Apache-2.0
#include "bench/suites.hpp"

#include "tulle/core/error.hpp"
#include "tulle/gen/generate.hpp"
#include "tulle/io/matrix_market.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace tulle::bench {
namespace {

using list = std::vector<std::string>;

// One of each kind, a few seconds each.
list const quick{"gen:diffusion2d5:1000",  "gen:diffusion3d27:60", "gen:fem:60000",
                 "gen:lattice:500000",     "gen:rmat:17:16",       "gen:circuit:200000",
                 "gen:lp:1024:250000:1300"};
// The sizes that documentation quotes: well above the caches where the class allows it.
list const generated{
    "gen:diffusion2d5:2000",    "gen:diffusion2d9:1500", "gen:diffusion3d7:160",
    "gen:diffusion3d27:100",    "gen:fem:60000",         "gen:lattice:500000",
    "gen:rmat:18:16",           "gen:rmat:20:16",        "gen:circuit:500000",
    "gen:lp:4096:1100000:2600", "gen:banded:1000000:8",  "gen:random:1000000:1000000:10000000",
    "gen:permutation:4000000",  "gen:dense:2048"};
// As large as a GPU wants them.
list const large{"gen:diffusion2d5:4096", "gen:diffusion3d27:160",   "gen:fem:500000",
                 "gen:rmat:21:16",        "gen:circuit:2000000",     "gen:lattice:4000000",
                 "gen:dense:2048",        "gen:lp:4096:1100000:2600"};
// For products of two sparse matrices.
list const products{"gen:diffusion2d5:1000", "gen:fem:30000", "gen:rmat:14:16",
                    "gen:lattice:500000"};
// For matrices that grow.
list const growing{"gen:rmat:20:16", "gen:diffusion2d5:2000", "gen:circuit:500000"};
list const growing_quickly{"gen:rmat:18:16"};
// For level 1: y in the last-level cache, and y that no cache holds.
list const vectors{"vector:1000000:0.01", "vector:100000000:0.01"};
// As long as rows are. Two million keys: of eighty thousand a processor learns the branches by
// heart.
list const short_lists{"lists:250000:4", "lists:125000:8", "lists:50000:20", "lists:10000:100",
                       "lists:1000:1000"};
list const large_products{"gen:diffusion2d5:1024", "gen:fem:100000", "gen:rmat:17:16",
                          "gen:lattice:1000000"};

// Real matrices that anyone can have, by name: what tulle is judged by. From the SuiteSparse
// collection, the METIS and Debian packages, Netlib and MIPLIB; by number of entries, most first.
// Those with fewer than twenty thousand show little but the cost of a call.
list const real{"cnr-2000",
                "debian-terms",
                "dblp-2010",
                "xenon1",
                "mdual",
                "NotreDame_www",
                "soc-Epinions1_und",
                "thesaurus-en-us",
                "cage11",
                "c-62",
                "rail507",
                "nsjac",
                "delaunay_n16",
                "vsp_model1_crew1_cr42_south31",
                "email-Enron",
                "cit-HepTh",
                "cond-mat-2005",
                "ct2010",
                "EX5",
                "bcsstk16",
                "basker_matrix1",
                "debian-depends-T",
                "debian-depends",
                "szdMat",
                "luxembourg_osm",
                "jnlbrng1",
                "lp_fit2d",
                "memplus",
                "wiki-Vote",
                "as-22july06",
                "lp_qap15",
                "bayer10",
                "4elt",
                "mip_air03",
                "bcsstk13",
                "powersim",
                "lp_stocfor3",
                "Chem97Zt",
                "ISPD98_ibm01",
                "lp_fit2p",
                "ex6",
                "PGPgiantcompo",
                "Franz6_id1959_aug",
                "rajat01",
                "Trefethen_2000",
                "lp_dfl001",
                "add32",
                "mip_mod011",
                "bcspwr10",
                "sherman3"};

bool is_matrix_file(std::filesystem::path const& p) {
  std::string const name = p.filename().string();
  return name.ends_with(".mtx") || name.ends_with(".mtx.gz");
}

list files_in(std::string const& folder, list& remarks) {
  if (!std::filesystem::is_directory(folder))
    fail(errc::io, "%s: is not a folder", folder.c_str());
  list files;
  for (auto const& entry : std::filesystem::directory_iterator(folder)) {
    if (!is_matrix_file(entry.path()))
      continue;
    std::string const file = entry.path().string();
    if (read_matrix_market_header(file).field == matrix_market::field::complex)
      remarks.push_back(file + " is left out: its values are complex");
    else
      files.push_back(file);
  }
  if (files.empty())
    fail(errc::io, "%s: no .mtx and no .mtx.gz in it", folder.c_str());
  std::sort(files.begin(), files.end());
  return files;
}

// Those of its table 9.2, which are squared.
list const squared{"cant",     "mac_econ_fwd500", "mc2depi",       "filter3D",     "pwtk",
                   "shipsec1", "rma10",           "pdb1HYS",       "consph",       "2cubes_sphere",
                   "cop20k_A", "cage12",          "hood",          "m133-b3",      "majorbasis",
                   "mario002", "mono_500Hz",      "offshore",      "patents_main", "poisson3Da",
                   "scircuit", "webbase-1M",      "conf5_4-8x8-20"};

bool is_used_in(gen::model const& m, char source) {
  return std::string(m.sources).find(source) != std::string::npos;
}

// The path of a matrix of that name in the folder; empty where there is none.
std::string file_of(std::string const& name, std::string const& folder) {
  for (char const* const ending : {".mtx.gz", ".mtx"}) {
    auto const file = std::filesystem::path(folder) / (name + ending);
    if (!folder.empty() && std::filesystem::exists(file))
      return file.string();
  }
  return "";
}

// The file itself where the folder has it, else a stand-in.
std::string file_or_like(gen::model const& m, std::string const& folder) {
  std::string const found = file_of(std::string(m.name), folder);
  return found.empty() ? "gen:like:" + std::string(m.name) : found;
}

// Those of the list that the folder has. How many it lacks is said.
list real_in(std::string const& folder, list& remarks) {
  if (!std::filesystem::is_directory(folder))
    fail(errc::io, "%s: is not a folder", folder.c_str());
  list files;
  std::string missing;
  for (std::string const& name : real)
    if (std::string const file = file_of(name, folder); file.empty())
      missing += (missing.empty() ? "" : ", ") + name;
    else
      files.push_back(file);
  if (files.empty())
    fail(errc::io,
         "%s: has none of the %zu matrices of --suite real; --suite folder takes what is there",
         folder.c_str(), real.size());
  if (!missing.empty())
    remarks.push_back(std::to_string(real.size() - files.size()) + " of " +
                      std::to_string(real.size()) + " matrices of the suite are not in " + folder +
                      ": " + missing);
  return files;
}

// The matrices of Liu's thesis, table A.1, or 9.2 for products.
list thesis(std::string const& folder, std::string const& op) {
  list all;
  for (gen::model const& m : gen::models())
    if (op == "spgemm" ? std::find(squared.begin(), squared.end(), m.name) != squared.end()
                       : is_used_in(m, 'L'))
      all.push_back(file_or_like(m, folder));
  return all;
}

// The graphs of King et al., the smallest first. On a CPU larger ones than this take minutes each.
constexpr std::uint64_t most_on_cpu = 25'000'000;
list graphs(options const& o, list& remarks) {
  std::vector<gen::model> chosen;
  for (gen::model const& m : gen::models()) {
    if (!is_used_in(m, 'D'))
      continue;
    if (o.backend == "cpu" && m.nnz > most_on_cpu)
      remarks.push_back(std::string(m.name) + " is left out on the CPU: " +
                        std::to_string(m.nnz / 1'000'000) + " million entries");
    else
      chosen.push_back(m);
  }
  std::sort(chosen.begin(), chosen.end(),
            [](auto const& a, auto const& b) { return a.nnz < b.nnz; });
  list all;
  for (gen::model const& m : chosen)
    all.push_back(file_or_like(m, o.folder));
  return all;
}

} // namespace

std::vector<std::string> const& suite_names() {
  static list const names{"quick", "generated", "large", "thesis", "graphs", "real", "folder"};
  return names;
}

std::vector<std::string> matrices_of(options const& o, std::string const& op,
                                     std::vector<std::string>& remarks) {
  if (!o.matrices.empty())
    return o.matrices;
  if (op == "level1")
    return vectors;
  if (op == "primitive")
    return short_lists;
  if (o.suite == "real" || o.suite == "folder") {
    char const* const named = std::getenv("TULLE_MATRICES");
    std::string const folder = !o.folder.empty() ? o.folder : named ? named : "";
    if (folder.empty())
      fail(errc::io,
           "--suite %s needs a folder of .mtx or .mtx.gz files: --folder FOLDER or "
           "TULLE_MATRICES",
           o.suite.c_str());
    return o.suite == "real" ? real_in(folder, remarks) : files_in(folder, remarks);
  }
  if (o.suite == "thesis")
    return thesis(o.folder, op);
  if (o.suite == "graphs")
    return graphs(o, remarks);
  if (op == "dynamic" && o.suite.empty())
    return o.how == effort::quick ? growing_quickly : growing;
  bool const big = o.suite == "large" || (o.suite.empty() && o.backend != "cpu");
  if (op == "spgemm")
    return big ? large_products : products;
  return big ? large : o.suite == "generated" ? generated : quick;
}

} // namespace tulle::bench
