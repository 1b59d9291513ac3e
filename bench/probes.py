# SPDX-License-Identifier: Apache-2.0
"""Does a fine-tuned model still know what it knew? Short questions, each with the pattern of a right answer.

    python3 bench/probes.py -m MODEL [--lora ADAPTER]

Probes are the questions that the base answers rightly five times of five: with --temp 0 and, at the default temperature, with the
seeds 1 to 4. Without --lora it lists them; with it each is answered again with --temp 0, and the exit status is 1 if one is lost."""
import argparse
import pathlib
import re
import subprocess
import sys

QUESTIONS = [
    ("What is the capital of Japan?", r"Tokyo"),
    ("What is 2 plus 2?", r"\b4\b|four"),
    ("Name three fruits.", r"(?i)apple|banana|orange|strawberr|mango|grape"),
    ("What is the opposite of hot?", r"(?i)\bcold|cool"),
    ("How many days are in a week?", r"(?i)\b7\b|seven"),
    ("Which animal says meow?", r"(?i)\bcat"),
    ("What is the capital of France?", r"Paris"),
    ("What is the capital of Italy?", r"Rome"),
    ("What is the capital of Spain?", r"Madrid"),
    ("What is the capital of Russia?", r"Moscow"),
    ("What is the capital of England?", r"London"),
    ("What is the capital of Portugal?", r"Lisbon"),
    ("Which planet do we live on?", r"Earth"),
    ("What colour is grass?", r"(?i)green"),
    ("What do bees make?", r"(?i)honey"),
    ("What is the largest ocean?", r"Pacific"),
    ("What is the tallest mountain in the world?", r"Everest"),
    ("Who wrote Romeo and Juliet?", r"Shakespeare"),
    ("Who painted the Mona Lisa?", r"Leonardo|Vinci"),
    ("What is water made of?", r"(?i)hydrogen"),
    ("What is the opposite of left?", r"(?i)right"),
    ("How many hours are in a day?", r"24"),
    ("How many months are in a year?", r"(?i)12|twelve"),
    ("Which animal barks?", r"(?i)\bdog"),
    ("What is frozen water called?", r"(?i)\bice"),
    ("What language is spoken in France?", r"(?i)french"),
    ("Who was the first president of the United States?", r"Washington"),
    ("What is the largest planet of the solar system?", r"Jupiter"),
    ("What gas do plants take in?", r"(?i)carbon dioxide|CO2"),
    ("In which country is Berlin?", r"Germany"),
    ("What is the currency of Japan?", r"(?i)yen"),
    ("What is the symbol for gold?", r"\bAu\b"),
]
TOKENS = 60


def answer(options, question, *more):
    command = [options.hz_run, "-m", options.model, "-n", str(TOKENS), "-q", "-p", question, *more]
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True).stdout.decode()


def right(pattern, text):
    """The first sentence counts: what follows often wanders."""
    return re.search(pattern, re.split(r"\.\s", text)[0]) is not None


def known(options, question, pattern):
    """Whether the base answers rightly five times of five."""
    runs = [("--temp", "0")] + [("--seed", str(seed)) for seed in range(1, 5)]
    return all(right(pattern, answer(options, question, *run)) for run in runs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-m", "--model", required=True)
    parser.add_argument("--lora", help="an adapter of it")
    parser.add_argument("--hz-run", default=str(pathlib.Path(__file__).parents[1] / "build" / "tools" / "hz-run"))
    options = parser.parse_args()
    probes = kept = 0
    for question, pattern in QUESTIONS:
        if not known(options, question, pattern):
            continue
        probes += 1
        if not options.lora:
            print(question, flush=True)
            continue
        text = answer(options, question, "--temp", "0", "--lora", options.lora)
        keeps = right(pattern, text)
        kept += keeps
        print("kept" if keeps else "LOST", question, "|", text.strip().replace("\n", " "), flush=True)
    print(f"{kept} of {probes}" if options.lora else f"{probes} probes")
    return 0 if probes and (kept == probes or not options.lora) else 1


if __name__ == "__main__":
    sys.exit(main())
