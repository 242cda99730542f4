# Every target sets up what it needs by itself. `make help` lists them.
SHELL := /bin/bash
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory --no-builtin-rules

VENV := .venv
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu

# PYTHON=… names an interpreter that has the packages already (say, with a CUDA build of torch).
ifdef PYTHON
RUN := $(PYTHON)
READY :=
NOTEBOOK_READY :=
else
RUN := $(VENV)/bin/python
READY := $(VENV)/.ready
NOTEBOOK_READY := $(VENV)/.notebook
endif

# Values reach the shell as environment variables, so no quoting can go wrong.
export LAB FROM DEVICE SEED TASK PROMPT FILE TEST URL
OPTIONS = $(if $(FROM),--from "$$FROM") $(if $(DEVICE),--device "$$DEVICE") $(if $(SEED),--seed "$$SEED") $(if $(TASK),--task "$$TASK")

# The report has said what did not pass: make adds no error of its own to that.
SHOWN = { code=$$?; [ $$code -eq 1 ] || exit $$code; }

.PHONY: help setup grade compile hint watch chat status doctor test test-gpu fuzz check lint types bench bench-grading bench-kernels bench-engine bench-collectives bench-course clean need-lab serve speculate rehearsal exploits load crowd reading house submit run python repeat trace notebook notebooks check-time pictures sanitizer field prove anew login attempts questions serve-demo rehearsal-service docs messages chinese

help: ## list the targets
	@echo "usage: make TARGET [LAB=n] [OPTION=…]"
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
	@echo
	@echo "PYTHON=python3 uses that interpreter as it is, instead of $(VENV)."
	@echo "make exits 0 once a report was shown and 2 on any failure; the program \`$(VENV)/bin/lab\` has exact exit codes."

grade: need-lab $(READY) ## grade a lab: LAB=1 [TASK=norm] [FROM=path] [DEVICE=cpu|cuda] [SEED=n] [ARGS="--html report.html"]
	@$(if $(SANITIZE),echo 'note: SANITIZE=1 is for a script of yours: make python LAB=$(LAB) FILE=mine.py SANITIZE=1; gradings look for races and wrong bounds anyway' >&2)
	@$(RUN) -m grader grade "$$LAB" $(OPTIONS) $(ARGS) || $(SHOWN)

hint: need-lab $(READY) ## show a hint: LAB=1 TASK=norm
	@$(RUN) -m grader hint "$$LAB" $(if $(TASK),"$$TASK")

login: $(READY) ## log in at your course's grading service: URL=https://labs.example.org
	@$(RUN) -m grader login $(if $(URL),"$$URL") $(ARGS)

attempts: need-lab $(READY) ## list what you handed in at the service: LAB=1 [ARGS="--fetch 77"]
	@$(RUN) -m grader attempts "$$LAB" $(ARGS) || $(SHOWN)

submit: need-lab $(READY) ## hand in your two files of a lab, at the service or by a push, after asking you: LAB=1 [ARGS=--no-wait]
	@$(RUN) -m grader submit "$$LAB" $(ARGS)

questions: need-lab $(READY) ## write a lab's questions, drawn for you, into QUESTIONS.md; what you typed stays: LAB=1 [ARGS="--student ID"]
	@$(RUN) -m grader questions "$$LAB" $(ARGS)

run: need-lab $(READY) ## generate text with your own code of a lab alone, beside a model that is right: LAB=1 PROMPT="def main("
	@$(RUN) -m labs.run "$$LAB" $(if $(PROMPT),"$$PROMPT") $(ARGS) || $(SHOWN)

python: need-lab $(READY) ## run a script of yours with Triton as the judge has it: LAB=6 FILE=mine.py [DEVICE=cpu|cuda] [SANITIZE=1]
	@[ -n "$$FILE" ] || { echo 'error: which script?' >&2; echo 'hint: make python LAB=6 FILE=mine.py' >&2; exit 2; }
	@$(RUN) -m grader python "$$LAB" $(if $(DEVICE),--device "$$DEVICE") $(if $(SANITIZE),--sanitize) "$$FILE" $(ARGS)

repeat: need-lab $(READY) ## write what a public test asks of your code as a script, to step through: LAB=6 TEST=test_name [SEED=n] [FROM=path] [DEVICE=cpu|cuda]
	@$(RUN) -m grader repeat "$$LAB" $(if $(TEST),"$$TEST") $(if $(FROM),--from "$$FROM") $(if $(DEVICE),--device "$$DEVICE") $(if $(SEED),--seed "$$SEED") || $(SHOWN)

trace: need-lab $(READY) ## draw a small launch of your kernels, step by step: LAB=6 [TASK=forward] [FROM=path] [FILE=mine.py]
	@$(RUN) -m grader trace "$$LAB" $(if $(TASK),--task "$$TASK") $(if $(FROM),--from "$$FROM") $(if $(FILE),--file "$$FILE") $(ARGS) || $(SHOWN)

compile: need-lab $(READY) ## compile the kernels of a lab for GPUs, without one: LAB=6 [TASK=forward] [FROM=path] [ARGS=--json]
	@$(RUN) -m grader compile "$$LAB" $(if $(FROM),--from "$$FROM") $(if $(TASK),--task "$$TASK") $(ARGS) || $(SHOWN)

notebook: need-lab $(NOTEBOOK_READY) ## write a lab as a notebook and open it in JupyterLab: LAB=1 [ARGS=--no-open]
	@$(RUN) -m grader notebook "$$LAB" $(ARGS)

watch: need-lab $(READY) ## grade the public tests at each save: LAB=1
	@$(RUN) -m grader watch "$$LAB" $(if $(FROM),--from "$$FROM") $(if $(DEVICE),--device "$$DEVICE")

chat: $(READY) ## generate text with your pieces of the labs: PROMPT="def main(" [MODEL=path] [ARGS="--quantize int4 --speculate 4", "--compile" or "--paged"]
	@$(RUN) -m labs.chat $(if $(PROMPT),"$$PROMPT") $(ARGS)

serve: $(READY) ## serve four texts at once with your labs 11 and 12, beside the given code: [PROMPT="def main("] [ARGS="--compile --rows 2"]
	@$(RUN) -m labs.serve $(if $(PROMPT),"$$PROMPT") $(ARGS) || $(SHOWN)

serve-demo: $(READY) ## show the grading service with a class of ten, at http://127.0.0.1:8000: [ARGS="--port 8080"]
	@$(RUN) -m grader.service.commands.demo $(ARGS)

speculate: $(READY) ## decode with your lab 10, real target and draft: [ARGS="--temperature 1 --svg calls.svg"]
	@$(RUN) -m labs.speculate $(ARGS)

status: $(READY) ## show the last points of every lab
	@$(RUN) -m grader status

doctor: $(READY) ## tell a broken environment from a wrong answer
	@$(RUN) -m grader doctor

test: $(READY) ## run the test-suite of the project, as many files at a time as cores: [ARGS="-k name"] [SHARE=3]
	@$(RUN) -m pytest $(if $(SHARE),--share=$(SHARE)) $(if $(WITHIN),--within=$(WITHIN)) $(or $(ARGS),-n auto --maxprocesses 8 --dist loadfile --no-loadscope-reorder)

test-gpu: $(READY) ## prove what only GPUs can, on all there are; what was cut off goes on: [PART=2/4] [ARGS="'check 08 *' --write"]
	@PYTHONPATH="$(CURDIR):$(CURDIR)/tests" $(RUN) tests/run_on_gpu.py $(if $(PART),--part "$(PART)") $(ARGS)

fuzz: $(READY) ## attack the judge, and the rule of marks, at random: [EXAMPLES=2000] [ARGS="-k wire"]
	@EXAMPLES="$(or $(EXAMPLES),2000)" $(RUN) -m pytest -sv --hypothesis-show-statistics $(ARGS) tests/*/test_fuzz_*.py tests/course/grading/test_rule.py

# What a day leaves out, it leaves out of both: --share, --within and --sample-date hold for exploits too.
check: $(READY) ## prove the labs and the judge: [LAB=1] [ARGS="--jobs 4"]
	@$(RUN) -m grader check $(if $(LAB),"$$LAB") $(ARGS)
	@$(if $(LAB),,$(MAKE) exploits ARGS="$$(grep -oE -e '--(share|within|sample-date)[ =][0-9-]+' <<< "$$ARGS" | xargs)")

# What fails ends nothing else. No options: whoever proves all of it leaves out nothing.
prove: ## prove all of it from nothing, whatever is remembered: a night's work
	@$(MAKE) -k ARGS= LAB= SHARE= lint types anew exploits notebooks sanitizer test

anew: $(READY)
	@$(RUN) -m grader check --anew --wrong-seeds 2

notebooks: $(NOTEBOOK_READY) ## build, fill, execute and grade the notebooks of all labs: [LAB=1] [ARGS="--jobs 4"]
	@PYTHONPATH="$(CURDIR)" $(RUN) tests/run_notebooks.py $(if $(LAB),"$$LAB") $(ARGS)

check-time: $(NOTEBOOK_READY) ## time %check in a notebook beside make grade: no more than 1.2 times
	@PYTHONPATH="$(CURDIR)" $(RUN) tests/run_check_time.py

exploits: $(READY) ## try every hostile submission on the judge: [ARGS="'hurt/*'"] [ARGS="--share 3"]
	@PYTHONPATH="$(CURDIR)" $(RUN) tests/run_exploits.py $(ARGS)

sanitizer: $(READY) ## prove the sanitizer on right kernels, answers and wrong ones: [ARGS="--beside PYTHON"]
	@PYTHONPATH="$(CURDIR)" $(RUN) tests/run_sanitizer.py $(ARGS)

field: $(READY) ## grade the ports of bugs that engines have had: [ARGS="7 --jobs 2"] [ARGS=--write]
	@PYTHONPATH="$(CURDIR):$(CURDIR)/tests" $(RUN) tests/run_field.py $(ARGS)

lint: $(READY) ## ruff: rules and formatting
	@$(RUN) -m ruff check . && $(RUN) -m ruff format --check .

types: $(READY) ## pyright, strict on grader/, bench/ and reference/
	@$(RUN) -m pyright --pythonpath "$$($(RUN) -c 'import sys; print(sys.executable)')"

house: $(READY) ## print how large the house is: files, lines, the longest, cycles, repeated lines
	@PYTHONPATH="$(CURDIR)" $(RUN) tests/run_house.py

load: $(READY) ## grade lab 02 two hundred times, right, wrong and hostile: [ARGS="--gradings 40"]
	@PYTHONPATH="$(CURDIR)" $(RUN) tests/run_load.py $(ARGS)

crowd: $(READY) ## grade right answers to all labs on a crowded machine: [ARGS="--spinners 10 --hogs 1", or --beside 6]
	@PYTHONPATH="$(CURDIR)" $(RUN) tests/run_crowd.py $(ARGS)

reading: $(READY) ## tell what it takes to read each odd submission before it runs: [ARGS="'slow_*'"]
	@PYTHONPATH="$(CURDIR)" $(RUN) tests/run_reading.py $(ARGS)

bench: $(READY) ## time your kernels on a GPU, or count what they move and compute: LAB=6 [TASK=forward] [FROM=path] [FILE=mine.py] [DEVICE=cpu|cuda] [ARGS="--html page.html"] (without LAB: the judge itself)
	@$(if $(LAB),$(RUN) -m grader bench lab "$$LAB" $(if $(FROM),--from "$$FROM") $(if $(TASK),--task "$$TASK") $(if $(FILE),--file "$$FILE") $(if $(DEVICE),--device "$$DEVICE") $(ARGS) || $(SHOWN),$(RUN) -m grader bench)

bench-grading: need-lab $(READY) ## tell what the seconds of a grading go to: LAB=6 [FROM=path] [DEVICE=cuda] [ARGS=--json]
	@$(RUN) -m grader bench grading "$$LAB" $(if $(FROM),--from "$$FROM") $(if $(DEVICE),--device "$$DEVICE") $(ARGS)

bench-kernels: $(READY) ## time our kernels beside others, on a GPU: [LAB=6] [ARGS="--json table.json"]
	@$(RUN) -m grader bench kernels $(if $(LAB),"$$LAB") $(ARGS)

bench-engine: $(READY) ## time the reference engine beside transformers and the roofline: [DEVICE=cpu|cuda] [ARGS="--json table.json --write"]
	@$(RUN) -m grader bench engine $(if $(DEVICE),--device "$$DEVICE") $(ARGS)

bench-collectives: $(READY) ## measure what ranks can move, over gloo or NCCL: [ARGS="--ranks 2 --html ranks.html"]
	@$(RUN) -m grader bench collectives $(ARGS)

messages: $(READY) ## bring the catalogue of Chinese messages up to date: [ARGS=--check]
	@PYTHONPATH="$(CURDIR):$(CURDIR)/tests" $(RUN) tests/run_messages.py $(ARGS)

chinese: $(READY) ## grade wrong answers and list what English their Chinese reports have: LAB=1 [ARGS="--only 'wrong/norm_*' --print"]
	@PYTHONPATH="$(CURDIR):$(CURDIR)/tests" $(RUN) tests/run_chinese.py $(LAB) $(ARGS)

pictures: $(READY) ## draw the pictures of the handouts anew: [ARGS="7 --check"]
	@$(RUN) -m grader pictures $(ARGS)

bench-course: $(READY) ## time the gradebook of a class of 300 and five labs: [ARGS="--students 60"]
	@PYTHONPATH="$(CURDIR)" $(RUN) -m bench.course $(ARGS)

rehearsal-service: $(READY) ## a deadline rush at the grading service: 300 students, ten kills: [ARGS="--students 30"]
	@PYTHONPATH="$(CURDIR):$(CURDIR)/tests" $(RUN) tests/run_service_rush.py $(ARGS)

rehearsal: $(READY) ## go through a course with a class of 60: publish, collect, grade, export [ARGS="--students 12"]
	@$(RUN) tests/rehearsal $(ARGS)

docs: $(READY) ## build the site into build/site, and check each link and anchor of it: [ARGS="--to folder"]
	@$(RUN) -m grader.site $(ARGS)

setup: $(READY) ## make .venv with the pinned packages (the other targets do it too)
	@$(if $(READY),echo "$(VENV) is ready",echo "using $(PYTHON) as it is")

clean: ## remove caches and build leftovers; .venv and your results stay
	@find . -name __pycache__ -type d -not -path './$(VENV)/*' -prune -exec rm -rf {} +
	@rm -rf .pytest_cache .ruff_cache .hypothesis build dist *.egg-info

need-lab:
	@[ -n "$$LAB" ] || { echo 'error: which lab?' >&2; echo 'hint: make $(firstword $(MAKECMDGOALS)) LAB=1' >&2; exit 2; }

PIP := $(VENV)/bin/pip install -q --no-compile
# pip would do it on one core. What a package has for another Python does not compile.
COMPILE_ALL := $(VENV)/bin/python -m compileall -qq -j 0 $(VENV)/lib || true

# torch's CPU build is looked for where pip looks anyway, then on the index of its makers.
$(VENV)/.ready: pyproject.toml constraints.txt
	@echo "setting up $(VENV) (once; some minutes) …"
	@python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo 'error: python3 is missing or older than 3.11' >&2; exit 2; }
	@[ -x $(VENV)/bin/pip ] || python3 -m venv $(VENV) \
		|| { rm -rf $(VENV); echo 'hint: apt install python3-venv, or use PYTHON=…' >&2; exit 2; }
	@$(PIP) -e '.[dev]' -c constraints.txt > $(VENV)/setup.log 2>&1 \
		|| $(PIP) -e '.[dev]' -c constraints.txt --extra-index-url $(TORCH_INDEX) >> $(VENV)/setup.log 2>&1 \
		|| { tail -n 5 $(VENV)/setup.log >&2; echo 'error: the packages did not install' >&2; \
			echo 'hint: all of pip is in $(VENV)/setup.log' >&2; exit 2; }
	@$(COMPILE_ALL)
	@touch $@

# JupyterLab and what it brings, for who wants it: nothing else needs them.
$(VENV)/.notebook: $(VENV)/.ready
	@echo "adding JupyterLab to $(VENV) (once) …"
	@$(PIP) -e '.[notebook]' -c constraints.txt > $(VENV)/notebook.log 2>&1 \
		|| $(PIP) -e '.[notebook]' -c constraints.txt --extra-index-url $(TORCH_INDEX) >> $(VENV)/notebook.log 2>&1 \
		|| { tail -n 5 $(VENV)/notebook.log >&2; echo 'error: JupyterLab did not install' >&2; \
			echo 'hint: all of pip is in $(VENV)/notebook.log' >&2; exit 2; }
	@$(COMPILE_ALL)
	@touch $@
