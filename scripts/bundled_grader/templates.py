"""Sentence, question and fact templates for the generator.

``{}`` is a content word. Templates whose index is divisible by ``HOLD_OUT`` are only used in the test split.
"""

from __future__ import annotations

HOLD_OUT = 7

SENTENCES = """
The {} {} is a {} that {} the {} of {} and {}.
In most {}, the {} of a {} {} will be {} by its {}.
{} is the {} of {} in the {}.
A {} {} can {} when the {} are {} or the {} is {}.
There are many {} who {} that {} {} is {}.
If you {} the {}, you may {} a {} of {} in your {}.
It is {} to {} your {} before you {} with {} or {}.
{} and {} are {} by {}, which {} the {} from {} to {}.
According to the {}, {} {} have {} more than {} in the {} {}.
The {} was {} in {} by {} {}, a {} from {}.
You can also {} a {} {} for {} and {}, but it {} on the {}.
They {} about {} in {} and {} of the {} at {}.
{} {} is a {} of {} {}. It {} in {} {}.
Most {} {} do not {} the {}, so {} is {} for {}.
When {} {} {}, the {} {} {} into a {} {}.
For {}, {} {} and {} {} are the {} {} of {}.
This {} is {} for its {} {}, {} {}, and {} {}.
How {} is the {}? The {} {} {} in about {} {}.
We {} that the {} should be {} with {} {} as soon as {}.
These {} {} may {} {}, {}, {}, or {}.
One of the {} {} of {} is that it {} {} without {}.
He {} {} {} as a {} and {} of {} until {}.
The {}'s {} is {}, and its {} {} {} to {} {}.
{} ({}) is an {} {} {} with {} {}.
Some {} are {} {}: {}, {}, {} and {}.
To {} a {}, first {} the {} and then {} it {} the {}.
As a {}, {} {} {} their {} during the {} {}.
However, {} {} are not {} {} in every {}.
Although {} {} is {}, {} have {} {} over {}.
Because the {} {} {} at the {}, its {} must be {}.
Your {} may {} {} if the {} of {} in your {} is {}.
Many of the {} {} were {} to {} their {} {} after {}.
{} {}, also called {} {}, is {} that {} the {} {}.
What is {}? {} is {} {} of {} through {}.
Only a {} {} can {} whether your {} is {}.
It has been {} that {} {} {} up to {} of all {}.
Both {} and {} {} {} from the {} {} by {}.
The {} between {} and {} is {} {} than {} {}.
While {} {} {}, there is no {} that {} {} {}.
An {} {} {} on {}, not on the {} of {}.
""".strip().split("\n")

QUESTIONS = """
What is the role of {0} in {1}?
What role does {0} play in {1}?
How does {0} affect {1}?
How do {0} influence the {1} of {2}?
What are the typical {0} of {1} for {2}?
What are the key factors influencing {0} of {1}?
In what ways does {0} impact {1} and {2}?
What is the significance of {0} in {1}?
How does {0} differ from {1}?
How do {0} compare to {1} in terms of {2}?
What are the main causes of {0} in {1}?
What are the potential {0} associated with {1}?
Which {0} are commonly used for {1}?
How can {0} be {1} by {2}?
What are the benefits of using {0} for {1}?
Why is {0} important for {1}?
What historical events led to the {0} of {1}?
How has {0} evolved over time in {1}?
What are the challenges of {0} with {1}?
How does the {0} of {1} vary with {2}?
What is the average {0} of {1}?
Who {0} the {1} of {2}?
When did {0} {1} the {2}?
Where is {0} {1} located?
How long does {0} of {1} take?
What happens to {0} when {1} is {2}?
Can {0} be used to {1} {2}?
What criteria determine {0} in {1}?
What are common misconceptions about {0}?
How many {0} does {1} have?
{0} {1} {2}
what is {0}
how to {0} {1}
{0} of {1} and {2}
definition of {0} {1}
What are the implications of {0} for {1} and {2}?
How is the term {0} used in {1}?
What are the differences between {0} and {1}?
Does {0} cause {1}?
What steps are needed to {0} {1}?
How do environmental conditions affect {0}?
What are the characteristics of {0} and their {1}?
""".strip().split("\n")

NUGGETS = """
{0} of {1}
{0} {1}
{0} {1} in {2}
{0} causes {1}
{0} for {1} and {2}
{0} affects {1}
Role of {0} in {1}
Impact of {0} on {1}
{0}, {1} and {2}
Types of {0}
{0} is {1}
{0} was {1} by {2}
Importance of {0}
{0} by {1}
""".strip().split("\n")

# (attribute words, sentence with {e}ntity and {v}alue, question with {e})
FACTS = [
    line.split(" | ")
    for line in """
capital | The capital of {e} is {v}. | What is the capital of {e}?
founder | {e} was founded by {v}. | Who founded {e}?
inventor | {v} invented the {e}. | Who invented the {e}?
location | {e} is located in {v}. | Where is {e} located?
author | {e} was written by {v}. | Who wrote {e}?
color | The color of {e} is {v}. | What is the color of {e}?
ruler | {e} is ruled by {v}. | Who rules {e}?
population | {e} has a population of {n}. | What is the population of {e}?
birth | {e} was born in {v}. | Where was {e} born?
year | {e} was built in {n}. | When was {e} built?
cause | {e} is caused by {v}. | What causes {e}?
treatment | Doctors treat {e} with {v}. | How is {e} treated?
cost | The cost of {e} is {n} dollars. | How much does {e} cost?
length | {e} is {n} miles long. | How long is {e}?
height | {e} stands {n} feet tall. | How tall is {e}?
language | People in {e} speak {v}. | What language do people in {e} speak?
symptom | {v} is a symptom of {e}. | What is a symptom of {e}?
product | {e} produces {v}. | What does {e} produce?
discoverer | {e} was discovered by {v}. | Who discovered {e}?
currency | The currency of {e} is the {v}. | What is the currency of {e}?
ingredient | The main ingredient of {e} is {v}. | What is the main ingredient of {e}?
teacher | {e} was taught by {v}. | Who taught {e}?
spouse | {e} married {v}. | Who did {e} marry?
age | {e} died at the age of {n}. | At what age did {e} die?
river | The longest river in {e} is the {v}. | What is the longest river in {e}?
food | {e} feeds on {v}. | What does {e} eat?
weight | An adult {e} weighs {n} pounds. | How much does a {e} weigh?
leader | The president of {e} is {v}. | Who is the president of {e}?
symbol | The symbol for {e} is {v}. | What is the symbol for {e}?
material | {e} is made of {v}. | What is {e} made of?
use | {e} is used for {v}. | What is {e} used for?
season | {e} blooms in {v}. | When does {e} bloom?
owner | {e} is owned by {v}. | Who owns {e}?
name | {e} is also known as {v}. | What is another name for {e}?
temperature | {e} boils at {n} degrees. | At what temperature does {e} boil?
""".strip().split("\n")
]
