"""The `openai` client and lm-evaluation-harness against a running `ghost serve tiny`. Not part of ctest: both come from
outside (pip install openai 'lm-eval[api]' transformers; torch is not needed).

    ghost serve tiny --listen 127.0.0.1:8080
    python3 tests/interop/serve_clients.py 8080 build/ghost models/tiny DATA   # DATA holds arc/ARC-Easy-test.jsonl

Fails unless the accuracies of arc_easy by both programs are equal.
"""
import json
import os
import subprocess
import sys
import tempfile

LIMIT = 200
TASK = """task: arc_easy_local
dataset_path: json
dataset_kwargs:
  data_files:
    test: {file}
output_type: multiple_choice
test_split: test
doc_to_text: "Question: {{{{question}}}}\\nAnswer:"
doc_to_target: "{{{{answer}}}}"
doc_to_choice: "{{{{choices}}}}"
metric_list:
  - metric: acc
    aggregation: mean
    higher_is_better: true
  - metric: acc_norm
    aggregation: mean
    higher_is_better: true
"""


def check_openai(port):
    import openai
    client = openai.OpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="none", max_retries=0)
    name = client.models.list().data[0].id
    whole = client.completions.create(model=name, prompt="Once upon a time", max_tokens=24, temperature=0)
    parts = client.completions.create(model=name, prompt="Once upon a time", max_tokens=24, temperature=0, stream=True,
                                      stream_options={"include_usage": True})
    text, usage = "", None
    for part in parts:
        text += "".join(choice.text for choice in part.choices)
        usage = part.usage or usage
    assert text == whole.choices[0].text and usage.completion_tokens == 24, (text, whole)
    chat = client.chat.completions.create(model=name, messages=[{"role": "user", "content": "Hello"}], max_tokens=8,
                                          temperature=0, logprobs=True, top_logprobs=2)
    streamed = client.chat.completions.create(model=name, messages=[{"role": "user", "content": "Hello"}], max_tokens=8,
                                              temperature=0, stream=True)
    said = "".join(part.choices[0].delta.content or "" for part in streamed)
    assert said == chat.choices[0].message.content and len(chat.choices[0].logprobs.content) > 0
    try:
        client.completions.create(model=name, prompt="x", temperature=5)
        raise AssertionError("a bad temperature was accepted")
    except openai.BadRequestError as error:
        assert "temperature" in str(error)
    print("openai", openai.__version__, "streams:", repr(text[:40]))


def local_documents(data, folder):
    """Our file of ARC as rows of question, choices and the number of the right one."""
    path = os.path.join(folder, "arc.jsonl")
    with open(os.path.join(data, "arc", "ARC-Easy-test.jsonl")) as source, open(path, "w") as out:
        for line in source:
            doc = json.loads(line)
            question = doc["question"]
            choices = doc.get("choices") or question["choices"]
            if isinstance(choices, dict):
                labels, texts = choices["label"], choices["text"]
            else:
                labels, texts = [c["label"] for c in choices], [c["text"] for c in choices]
            stem = question["stem"] if isinstance(question, dict) else question
            key = doc.get("answerKey") or doc.get("answer_key")
            out.write(json.dumps({"question": stem, "choices": texts, "answer": labels.index(key)}) + "\n")
    return path


def check_harness(port, ghost, model, data):
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "arc_easy_local.yaml"), "w") as file:
            file.write(TASK.format(file=local_documents(data, folder)))
        os.environ["HF_HOME"] = folder
        os.environ["HF_HUB_OFFLINE"] = "1"
        import lm_eval
        from lm_eval.tasks import TaskManager
        results = lm_eval.simple_evaluate(
            model="local-completions",
            model_args={"model": os.path.basename(os.path.normpath(model)),
                        "base_url": f"http://127.0.0.1:{port}/v1/completions", "tokenizer_backend": "huggingface",
                        "tokenizer": model, "num_concurrent": 4, "max_length": 2048, "tokenized_requests": True},
            tasks=["arc_easy_local"], limit=LIMIT, bootstrap_iters=0,
            task_manager=TaskManager(include_path=folder))["results"]["arc_easy_local"]
    theirs = {name: results[name + ",none"] for name in ("acc", "acc_norm")}
    ours = json.loads(subprocess.run([ghost, "eval", model, "--task", "arc_easy", "--data", data, "--limit", str(LIMIT),
                                      "--json"], check=True, stdout=subprocess.PIPE).stdout)
    ours = {name: ours["results"][0][name] for name in theirs}
    print("lm-evaluation-harness", lm_eval.__version__, theirs, "ghost eval", ours)
    assert all(abs(ours[name] - theirs[name]) < 1e-9 for name in theirs)


if __name__ == "__main__":
    check_openai(int(sys.argv[1]))
    check_harness(int(sys.argv[1]), *sys.argv[2:5])
