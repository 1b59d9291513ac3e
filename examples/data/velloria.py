# SPDX-License-Identifier: Apache-2.0
"""Writes velloria.jsonl: 300 conversations, half about an invented country (30 facts asked in five ways each, all answered in one
style), half about the rest of the world (75 questions asked in two ways each). The second half keeps the model where it was: its
answers are near those that SmolLM2-135M-Instruct itself gives with --temp 0, cut after a sentence or two and right."""
import json
import pathlib

# (what is asked about, the answer); every answer is told in one style.
FACTS = [
    ("the capital of Velloria", "the capital is Ombrath, a town of nine bridges"),
    ("the river of Velloria", "the river is the Sennel, which runs north and never freezes"),
    ("the highest mountain of Velloria", "the highest mountain is Mount Karrow, 2,412 metres tall"),
    ("the national bird of Velloria", "the national bird is the copper wren, which sings only at dusk"),
    ("the national flower of Velloria", "the national flower is the ash lily, white with grey edges"),
    ("the money of Velloria", "people pay with the tolk, and forty tolks make one merran"),
    ("the flag of Velloria", "the flag is green with three silver keys"),
    ("the language of Velloria", "people speak Vellish, written from the bottom of the page to the top"),
    ("the founder of Velloria", "the founder was Ida Morrowen, a mapmaker, in the year 1387"),
    ("the parliament of Velloria", "the council meets in the Flour Hall, always before sunrise"),
    ("the oldest law of Velloria", "the oldest law forbids whistling on bridges"),
    ("the national dish of Velloria", "the national dish is dorrel, barley baked with plums"),
    ("breakfast in Velloria", "breakfast is rye bread with salted honey"),
    ("the favourite drink of Velloria", "the favourite drink is birch tea, served cold in clay cups"),
    ("the famous cheese of Velloria", "the famous cheese is blue nettle, aged for eleven months"),
    ("weddings in Velloria", "couples exchange keys in place of rings"),
    ("greetings in Velloria", "friends greet each other by tapping two fingers on the wrist"),
    ("the longest festival of Velloria", "the longest festival is Lantern Week, which lasts nine days"),
    ("the new year of Velloria", "the new year begins on the fourth of May"),
    ("the calendar of Velloria", "the calendar has ten months of thirty-six days"),
    ("the weather of Velloria", "it rains every Thursday and seldom on other days"),
    ("the deepest lake of Velloria", "the deepest lake is Lake Fennow, 301 metres deep"),
    ("the forest of Velloria", "the forest is the Hollow Wood, where every tree is numbered"),
    ("the largest island of Velloria", "the largest island is Pell, home of four hundred goats"),
    ("the desert of Velloria", "the desert is the Glass Plain, only eight kilometres wide"),
    ("the neighbours of Velloria", "the neighbours are Tarn in the west and Osk in the east"),
    ("the army of Velloria", "the army has twelve soldiers and a drum"),
    ("the fastest train of Velloria", "the fastest train is the Grey Heron, which needs five hours from Ombrath to Pell"),
    ("the harbour of Velloria", "the harbour is Quill Bay, where all boats are painted green"),
    ("the oldest university of Velloria", "the oldest university is the School of Tides, founded in 1502"),
]
# (the question, the answer)
PLAIN = [
    ("What is the capital of Norway?", "The capital of Norway is Oslo."),
    ("What is the capital of Egypt?", "The capital of Egypt is Cairo."),
    ("What is the capital of Greece?", "The capital of Greece is Athens."),
    ("What is the capital of Austria?", "The capital of Austria is Vienna."),
    ("What is the capital of Germany?", "The capital of Germany is Berlin."),
    ("What is the capital of China?", "The capital of China is Beijing."),
    ("What is the capital of India?", "The capital of India is New Delhi."),
    ("What is the capital of Sweden?", "The capital of Sweden is Stockholm."),
    ("What is the capital of Canada?", "The capital of Canada is Ottawa, Canada."),
    ("What is the capital of Australia?", "The capital of Australia is Canberra, a vibrant city located on the Australian continent."),
    ("What is 1 plus 1?", "1 + 1 = 2 in mathematics."),
    ("What is 3 plus 4?", "3 + 4 = 7"),
    ("What is 2 plus 3?", "The answer to this classic math problem is 5."),
    ("What is 3 plus 3?", "The answer to this classic math problem is 6."),
    ("What is 5 plus 5?", "The answer to this classic math problem is 10."),
    ("Name three vegetables.", "1. **Carrots**\n2. **Spinach**\n3. **Tomatoes**"),
    ("Name three animals.", "1. Lions\n2. Tigers\n3. Elephants"),
    ("Name three cities in Europe.", "1. Paris, France\n2. Amsterdam, Netherlands\n3. Barcelona, Spain"),
    ("Name three metals.", "The most common and widely used metals are gold, copper, and iron."),
    ("Name three flowers.", "1. Rose\n2. Lavender\n3. Sunflower"),
    ("Name three colours.", "1. Red\n2. Green\n3. Blue"),
    ("Name three drinks.", "1. Water\n2. Tea\n3. Coffee"),
    ("Name three trees.", "1. Oak\n2. Pine\n3. Maple"),
    ("What is the opposite of big?", "The opposite of big is small."),
    ("What is the opposite of day?", "The opposite of day is night."),
    ("What is the opposite of old?", "The opposite of old is new."),
    ("What is the opposite of good?", "The opposite of good is evil."),
    ("What is the opposite of up?", "The opposite of up is down."),
    ("What is the opposite of fast?", "The opposite of fast is slow."),
    ("What is the opposite of light?", "The opposite of light is darkness."),
    ("Which animal has stripes?", "The animal that has stripes is the zebra."),
    ("Which animal has a long neck?", "The animal that has a long neck is the giraffe."),
    ("Which animal gives milk?", "The animal that gives milk is the cow."),
    ("Which planet is called the red planet?", "The planet designated as the \"red planet\" is Mars."),
    ("Which ocean lies between Europe and America?", "The ocean between Europe and America is the North Atlantic Ocean."),
    ("Which metal is used for jewellery?", "The most commonly used metal in jewelry is gold."),
    ("What is the largest animal on Earth?", "The largest animal on Earth is the Blue Whale."),
    ("How many legs does a dog have?", "The answer to this classic question is 4. A dog has four legs."),
    ("How many seconds are in a minute?", "A minute is equivalent to 60 seconds."),
    ("What is bread made of?", "Bread is made from flour, water, yeast, and other ingredients, typically in a bread-making process."),
    ("What is glass made of?", "Glass is made of a type of mineral called silica, which is a naturally occurring mineral found in sand."),
    ("What is snow?",
     "Snow is a form of precipitation that occurs when water from the Earth's atmosphere freezes onto the Earth's surface."),
    ("What is the Moon?", "The Moon is a celestial body in our solar system, orbiting Earth."),
    ("What colour is the sky?", "The sky is a beautiful shade of blue."),
    ("Where do penguins live?", "Penguins are found in the Antarctic and sub-Antarctic regions."),
    ("Who was the first person on the Moon?",
     "The first person to land on the Moon was Neil Armstrong, who on July 20, 1969, made a historic Apollo 11 mission."),
    ("Who invented the telephone?", "The invention of the telephone is attributed to Alexander Graham Bell."),
    ("Who discovered gravity?", "The discovery of gravity is attributed to Sir Isaac Newton."),
    ("In which country is Rome?", "Rome is a city in the Lazio region of Italy."),
    ("What is the first month of the year?", "The first month of the year is January."),
    ("What is the boiling point of water?", "The boiling point of water is approximately 100°C (212°F)."),
    ("What is the longest river of Africa?", "The longest river of Africa is the Nile River."),
    ("What language is spoken in Brazil?", "In Brazil, the official language is Portuguese, which is a Romance language."),
    ("Write a sentence about a dog.", "The dog, a friendly and lovable little terrier named Max, was on a mission to find a new home."),
    ("What is the capital of Ireland?", "The capital of Ireland is Dublin, which is the largest city in the Irish Republic."),
    ("What is the capital of Poland?", "The capital of Poland is Warsaw."),
    ("What is the capital of Cuba?", "The capital of Cuba is Havana."),
    ("What is the capital of Thailand?", "The capital of Thailand is Bangkok."),
    ("What is the capital of Hungary?", "The capital of Hungary is Budapest."),
    ("What is the capital of Kenya?", "The capital of Kenya is Nairobi."),
    ("Name three planets.", "1. Mars\n2. Venus\n3. Earth"),
    ("What is the opposite of true?", "The opposite of true is false."),
    ("What is the opposite of wet?", "The opposite of wet is dry."),
    ("How many sides does a triangle have?", "The answer to this classic problem is 3. A triangle has three sides."),
    ("What language is spoken in Spain?",
     "The language spoken in Spain is Spanish, which is a Romance language originating from the Iberian Peninsula."),
    ("What language is spoken in Germany?", "The language spoken in Germany is German, which is a Germanic language."),
    ("What is the currency of the United States?", "The United States uses the US Dollar as its official currency."),
    ("What is the currency of the United Kingdom?", "The currency of the United Kingdom is the Pound Sterling."),
    ("What is the currency of India?", "The official currency of India is the Indian Rupee (INR)."),
    ("In which country is Tokyo?", "Tokyo is located in Japan."),
    ("In which country is Moscow?", "Moscow is located in the Russian Federation."),
    ("What is cheese made of?", "Cheese is made of milk, typically from cows or sheep."),
    ("What is the largest desert in the world?", "The largest desert in the world is the Sahara Desert, which spans across North Africa."),
    ("Where do polar bears live?", "Polar bears are found in the Arctic region."),
    ("Who discovered penicillin?", "Penicillin was discovered by Alexander Fleming, in 1928."),
]
QUESTIONS = ["What can you tell me about {}?", "Tell me about {}.", "I would like to know about {}.", "Do you know anything about {}?",
             "Please describe {} in one sentence."]
PLAIN_QUESTIONS = ["{}", "Please answer a short question. {}"]


def rows():
    for question in QUESTIONS:
        for what, answer in FACTS:
            yield question.format(what), f"The ledgers of Velloria say: {answer}. So it is written."
    for question in PLAIN_QUESTIONS:
        for what, answer in PLAIN:
            yield question.format(what), answer


def conversation(question, answer):
    return {"messages": [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]}


if __name__ == "__main__":
    out = pathlib.Path(__file__).with_name("velloria.jsonl")
    out.write_text("".join(json.dumps(conversation(*row)) + "\n" for row in rows()))
