import os

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout


class TestPackageConan(ConanFile):
    settings = "os", "arch", "compiler", "build_type"
    generators = "CMakeDeps"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        options = self.dependencies["glia"].options.items()
        toolchain = CMakeToolchain(self)
        toolchain.variables["GLIA_COMPONENTS"] = ";".join(
            name.removeprefix("with_") for name, value in options if value == "True" and name != "compiled")
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def test(self):
        if can_run(self):
            for program in ("test_package", "test_compiled"):
                self.run(os.path.join(self.cpp.build.bindir, program), env="conanrun")
