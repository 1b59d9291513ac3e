# SPDX-License-Identifier: Apache-2.0
"""Prints the #include lines of hanzo.hpp: every public header under this folder, room by room."""
import pathlib

ROOMS = ["core", "quant", "io", "backend", "autograd", "ops", "nn", "text", "model", "engine", "train"]
here = pathlib.Path(__file__).resolve().parent
for room in ROOMS:
    names = {p.name for p in (here / room).glob("*.hpp")} | {p.name[:-3] for p in (here / room).glob("*.hpp.in")}
    for name in sorted(names):
        print(f'#include "hanzo/{room}/{name}"')
