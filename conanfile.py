import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain
from conan.tools.files import copy, load
from conan.tools.gnu import PkgConfig
from conan.tools.layout import basic_layout


# What each optional component requires, and the libraries of it that it links.
COMPONENTS = {
    "compression": {"zlib/[>=1.2.11 <2]": "zlib::zlib"},
    "image": {"libjpeg-turbo/[>=2.1 <4]": "libjpeg-turbo::turbojpeg",
              "libpng/[>=1.6.37 <2]": "libpng::libpng"},
    "safetensors": {"nlohmann_json/[>=3.11 <4]": "nlohmann_json::nlohmann_json"},
    "npz": {"libzip/[>=1.7 <2]": "libzip::libzip"},
    "hdf5": {"hdf5/[>=1.10.7 <2]": "hdf5::hdf5_c"},
    "pjrt": {},
    "mpi": {"openmpi/[>=4.1 <6]": "openmpi::openmpi"},
    "onnx": {"onnx/[>=1.12 <2]": "onnx::onnx_proto"},
    "video": {"ffmpeg/[>=5.0 <8]": "ffmpeg::ffmpeg"},
}
# The same in pkg-config's words, for what a profile's [platform_requires] leave to the system. Libraries
# without such a file are headers, or listed with their name for the linker.
SYSTEM = {
    "openblas": ["openblas"], "zlib": ["zlib"], "libjpeg-turbo": ["libturbojpeg"], "libpng": ["libpng"],
    "libzip": ["libzip"], "hdf5": ["hdf5"], "openmpi": ["ompi-c"],
    "ffmpeg": ["libavformat", "libavcodec", "libswscale", "libavutil"], "onnx": ["protobuf"],
}
SYSTEM_LIBRARIES = {"onnx": ["onnx_proto"]}
SYSTEM_DEFINES = {"onnx": ["ONNX_NAMESPACE=onnx", "ONNX_ML=1"]}
# The components that others build on.
BASES = {"video": ["image"]}


class GliaConan(ConanFile):
    name = "glia"
    description = "Header-only C++20 library that trains and runs neural networks on xtensor"
    license = "BSD-3-Clause"
    topics = ("neural-networks", "deep-learning", "machine-learning", "xtensor", "header-only")
    settings = "os", "arch", "compiler", "build_type"
    options = {"blas": ["OpenBLAS", "none"], "compiled": [True, False], **{f"with_{name}": [True, False] for name in COMPONENTS}}
    default_options = {"blas": "OpenBLAS", "compiled": False, **{f"with_{name}": True for name in COMPONENTS},
                       # FFmpeg brings two dozen packages, some under the GPL.
                       "with_video": False,
                       # Clusters have an MPI of their own, which programs should use.
                       "with_mpi": False,
                       # It brings Protocol Buffers and their compiler.
                       "with_onnx": False, "libjpeg-turbo/*:turbojpeg": True}
    exports_sources = "include/*", "cmake/*", "CMakeLists.txt", "LICENSE"
    no_copy_source = True

    def set_version(self):
        header = load(self, os.path.join(self.recipe_folder, "include/glia/core/version.hpp"))
        parts = [re.search(rf"GLIA_VERSION_{part} (\d+)", header).group(1)
                 for part in ("MAJOR", "MINOR", "PATCH")]
        self.version = ".".join(parts)

    def configure(self):
        self.package_type = "static-library" if self.options.compiled else "header-library"

    def layout(self):
        basic_layout(self)

    def requirements(self):
        self.requires("xtensor/[>=0.24 <0.28]", transitive_headers=True)
        if self.options.blas != "none":
            self.requires("xtensor-blas/[>=0.20 <1]", transitive_headers=True)
            self.requires("openblas/[>=0.3.17 <1]", transitive_headers=True, transitive_libs=True)
        for component in self._components():
            for reference in COMPONENTS[component]:
                self.requires(reference, transitive_headers=True, transitive_libs=True)

    def validate(self):
        check_min_cppstd(self, 20)
        for name in self._components():
            for base in BASES.get(name, []):
                if base not in self._components():
                    raise ConanInvalidConfiguration(f"with_{name} needs with_{base}")

    def package_id(self):
        if not self.info.options.compiled:
            self.info.clear()

    def generate(self):
        if self.options.compiled:
            CMakeDeps(self).generate()
            toolchain = CMakeToolchain(self)
            toolchain.variables["GLIA_COMPILED"] = True
            toolchain.variables["GLIA_BLAS"] = str(self.options.blas)
            for part in ("TESTS", "EXAMPLES", "BENCHMARKS"):
                toolchain.variables[f"GLIA_BUILD_{part}"] = False
            toolchain.generate()

    def build(self):
        if self.options.compiled:
            cmake = CMake(self)
            cmake.configure()
            cmake.build(target="glia_compiled")

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        copy(self, "*", os.path.join(self.source_folder, "include"),
             os.path.join(self.package_folder, "include"))
        copy(self, "gliaCompiled.cmake", os.path.join(self.source_folder, "cmake"),
             os.path.join(self.package_folder, "cmake"))
        copy(self, "*.a", self.build_folder, os.path.join(self.package_folder, "lib"),
             keep_path=False)

    def package_info(self):
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = ["lib"] if self.options.compiled else []
        self.cpp_info.set_property("cmake_file_name", "glia")
        self.cpp_info.set_property("cmake_config_version_compat", "SameMinorVersion")
        core = self.cpp_info.components["glia"]
        core.set_property("cmake_target_name", "glia::glia")
        core.defines = [f"GLIA_BLAS_{str(self.options.blas).upper()}"]
        libraries = ["xtensor::xtensor"]
        if self.options.blas != "none":
            libraries += ["xtensor-blas::xtensor-blas", "openblas::openblas"]
        self._link(core, libraries)
        if self.settings.os in ("Linux", "FreeBSD"):
            core.system_libs += ["pthread", "m"]
        if not self.options.compiled:
            # It is built by the project that links it.
            self.cpp_info.set_property("cmake_build_modules", ["cmake/gliaCompiled.cmake"])
        else:
            compiled = self.cpp_info.components["compiled"]
            compiled.set_property("cmake_target_name", "glia::compiled")
            compiled.libs = ["glia_compiled"]
            compiled.libdirs = ["lib"]
            compiled.defines = ["GLIA_COMPILED"]
            compiled.requires = ["glia"]
        for name in self._components():
            component = self.cpp_info.components[name]
            component.set_property("cmake_target_name", f"glia::{name}")
            component.requires = ["glia", *BASES.get(name, [])]
            self._link(component, COMPONENTS[name].values())
            if name == "pjrt" and self.settings.os in ("Linux", "FreeBSD"):
                component.system_libs += ["dl"]

    def _link(self, component, libraries):
        """Links libraries of other packages, or the system's where the profile leaves them to it."""
        packages = {dependency.ref.name for dependency in self.dependencies.host.values()}
        for library in libraries:
            package = library.partition("::")[0]
            if package in packages:
                component.requires.append(library)
                continue
            component.system_libs += SYSTEM_LIBRARIES.get(package, [])
            component.defines += SYSTEM_DEFINES.get(package, [])
            for name in SYSTEM.get(package, []):
                found = PkgConfig(self, name)
                component.includedirs += found.includedirs
                component.libdirs += found.libdirs
                component.system_libs += found.libs
                component.defines += found.defines

    def _components(self):
        return [name for name in COMPONENTS if self.options.get_safe(f"with_{name}")]
