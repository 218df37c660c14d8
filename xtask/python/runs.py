"""The real NNx beside `cargo xtask runs`: it does what each line asks and answers in a line.

A question is a JSON object with the key `ask`, which names a function below, and its arguments.
An answer is `{"ok": ...}` or `{"error": "<type>: <message>"}`.
"""

import json
import math
import os
import random
import sys
import warnings

import torch
import yaml

warnings.simplefilter("ignore")

from nnx import (  # noqa: E402
    Activations,
    Checkpoints,
    Devices,
    Losses,
    Nets,
    NNCheckpoint,
    NNEvaluationDataPoint,
    NNIterationDataPoint,
    NNModel,
    NNModelParams,
    NNOptimParams,
    NNParams,
    NNRun,
    NNTrainParams,
    Optims,
)

TAGS = {tag.value: tag for tag in Checkpoints}


def finite(value):
    """Floats that JSON lacks, as the fixtures spell them."""
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(item) for item in value]
    return value


# --- texts ---------------------------------------------------------------------------------------

PARTS = [
    *"abc019.:,#-?[]{}&*!|>%@`'\"\\ _~=",
    " a", "word ", "it's", "\n", "\n\n", "  ", "\t", "\xe9", "\U0001f600", "\x85", "\u2028", ": ", " #", "- ", "? ",
    "12:30", "1.5", "e5", "0x1f", "null", "yes", "<<", "---", "...", "\x00", "\x7f", "\r", "\ufeff",
    "longer words in a row that fold somewhere near the end of a line ", "x" * 56,
]
NUMBERS = [0, -1, 10**20, 0.0, -0.0, 1.0, 1e16, 1e22, 5e-324, 1e-05, 0.1, float("inf"), float("-inf")]


def a_text(draw):
    text = "".join(draw.choice(PARTS) for _ in range(draw.choice([0, 1, 1, 2, 3, 4, 6, 10, 30, 60])))
    if draw.random() < 0.3:
        text = text.encode("ascii", "ignore").decode()
    if draw.random() < 0.3:
        text = " ".join(text.split())
    return text


def a_value(draw, depth=0):
    kind = draw.random()
    if depth > 3 or kind < 0.5:
        return a_text(draw)
    if kind < 0.6:
        return draw.choice([None, True, False])
    if kind < 0.75:
        return draw.choice([*NUMBERS, draw.uniform(-1, 1) * 10 ** draw.randint(-20, 20), draw.randint(-(10**9), 10**9)])
    if kind < 0.87:
        return [a_value(draw, depth + 1) for _ in range(draw.randint(0, 3))]
    return {a_text(draw): a_value(draw, depth + 1) for _ in range(draw.randint(0, 4))}


def yaml_texts(seed, count):
    """Random states, what PyYAML writes for them, and whether it reads that again."""
    draw = random.Random(seed)
    cases = []
    for _ in range(count):
        state = {a_text(draw): a_value(draw, 1) for _ in range(draw.randint(0, 4))}
        text = yaml.safe_dump(state, sort_keys=True)
        try:
            reads = yaml.safe_load(text) == state
        except yaml.YAMLError:
            reads = False
        cases.append({"state": finite(state), "text": text, "reads": reads})
    return cases


def a_record(draw, index):
    def number():
        return draw.choice([None, float("nan"), *NUMBERS[3:], 3, draw.random(), draw.uniform(-1, 1) * 1e-7])

    def edp(task):
        names = ("f1", "recall", "accuracy", "precision", "loss", "error")
        fields = {name: number() for name in names if draw.random() < 0.8}
        extra = {draw.choice(["a", "b", "c,d", 'q"t', "x.y", "\xe9"]): draw.uniform(-5, 5) for _ in range(draw.randint(0, 2))}
        if task:
            fields |= {"kind": "regression", "count": 3, "status": "ok"}
        return NNEvaluationDataPoint(**fields, extra=extra)

    task = draw.random() < 0.2
    return NNIterationDataPoint(
        lr=draw.choice([0.01, 1e-07, 1, draw.random()]),
        iter_idx=index,
        epoch_idx=index // 3,
        batch_idx=index % 3,
        train_edp=edp(task),
        val_edp=edp(task) if draw.random() < 0.4 else None,
        update_count=index if draw.random() < 0.5 else None,
    )


def histories(root, seed, count):
    """Random histories, the text that pandas writes for each, and what NNx reads from that."""
    draw = random.Random(seed)
    cases = []
    for index in range(count):
        records = [a_record(draw, row) for row in range(draw.randint(0, 6))]
        run = NNRun(net=net_params(), model=model_params(), train=NNTrainParams(n_epochs=1), salt=f"{index}", idps=records)
        run.save(root=root, update_best=False)
        with open(os.path.join(root, "runs", run.id, "idps.csv"), encoding="utf-8", newline="") as handle:
            text = handle.read()
        before = [finite(record.state()) for record in records]
        after = [finite(record.state()) for record in NNRun.load(run.id, root=root).idps]
        cases.append({"before": before, "after": after, "text": text})
    return cases


# --- checkpoints of one number -------------------------------------------------------------------


def net_params():
    return NNParams(input_dim=2, output_dim=2, dropout_prob=0.0, activation=Activations.RELU)


def model_params():
    return NNModelParams(net=Nets.FEED_FWD, device=Devices.CPU, loss=Losses.CROSS_ENTROPY)


def checkpoint(number):
    edp = NNEvaluationDataPoint(loss=0.5)
    idp = NNIterationDataPoint(lr=0.01, iter_idx=number, epoch_idx=number, batch_idx=0, train_edp=edp)
    weights = {"layers.0.weight": torch.full((2, 2), float(number))}
    return NNCheckpoint(net_params=net_params(), net_state=weights, model_params=model_params(), idp=idp)


def save(root, run, tag, number):
    """Saves the checkpoint of a number; every third one without a training state."""
    state = None
    if number % 3:
        moments = {name: torch.full((2, 2), float(number)) for name in ("exp_avg", "exp_avg_sq")}
        group = {"lr": 0.01, "betas": (0.9, 0.999), "amsgrad": False, "params": [0]}
        state = {"state": {0: {"step": torch.tensor(float(number)), **moments}}, "param_groups": [group]}
    checkpoint(number).save(
        run=run,
        type=TAGS[tag],
        root=root,
        optimizer_state=state,
        optimizer_type="torch.optim.adam.Adam",
        optimizer_topology=[[{"name": "layers.0.weight", "shape": [2, 2]}]],
        completed_epoch=number,
        counters={"global_step": number, "committed_updates": number, "planned_n_epochs": 4},
    )
    return number


def pair(root, run, tag):
    """The number of the checkpoint that is there, once its training state was found to be of it.
    Its manifest is judged before, when another save may have been there."""
    assert NNCheckpoint.verify(run=run, type=TAGS[tag], root=root) is not None, "manifest"
    return numbered(root, run, tag)[0]


def whole(root, run, tag):
    """The number of the checkpoint that is there, once everything was found to be of one save."""
    manifest = NNCheckpoint.verify(run=run, type=TAGS[tag], root=root)
    number, found = numbered(root, run, tag)
    assert manifest["completed_epoch"] == number, "manifest"
    assert manifest["checkpoint_id"] == found.training_state_id, "id"
    return number


def numbered(root, run, tag):
    found, state = NNCheckpoint.load_with_training_state(run=run, type=TAGS[tag], root=root)
    number = found.idp.epoch_idx
    assert torch.equal(found.net_state["layers.0.weight"], torch.full((2, 2), float(number))), "weights"
    if number % 3:
        slots = state["optimizer"]["state"][0]
        assert state["completed_epoch"] == number and float(slots["step"]) == number, "training state"
        for name in ("exp_avg", "exp_avg_sq"):
            assert torch.equal(slots[name], torch.full((2, 2), float(number))), name
    else:
        assert state is None, "a training state beside weights alone"
    return number, found


# --- runs ----------------------------------------------------------------------------------------

OPTIMS = {
    "adam": (Optims.ADAM, (0.9, 0.999)),
    "amsgrad": (Optims.ADAM_AMSGRAD, (0.9, 0.999)),
    "adamw": (Optims.ADAMW, (0.9, 0.999)),
    "sgd": (Optims.SGD, 0.0),
    "sgd_momentum": (Optims.SGD, 0.9),
    "sgd_nesterov": (Optims.SGD_NESTEROV, 0.9),
}


def loader():
    torch.manual_seed(1)
    data = torch.utils.data.TensorDataset(torch.randn(12, 4), torch.randint(0, 3, (12,)))
    return torch.utils.data.DataLoader(data, batch_size=4, shuffle=False)


def model():
    torch.manual_seed(0)
    net = NNParams(input_dim=4, output_dim=3, hidden_dims=[5], dropout_prob=0.0, activation=Activations.RELU)
    return NNModel(net_params=net, params=model_params())


def train_params(optim, n_epochs, **more):
    name, momentum = OPTIMS[optim]
    return NNTrainParams(
        n_epochs=n_epochs,
        train_loader=loader(),
        val_loader=loader(),
        optim=NNOptimParams(name=name, max_lr=0.01, momentum=momentum, weight_decay=5e-05),
        **more,
    )


def told(run):
    """The values that Rust must find in a run."""
    points = {}
    for tag in TAGS.values():
        found, state = NNCheckpoint.load_with_training_state(run=run.id, type=tag)
        if found is None:
            continue
        manifest = NNCheckpoint.verify(run=run.id, type=tag)
        names = [slot["name"] for group in state["optimizer_topology"] for slot in group]
        slots = state["optimizer"]["state"]
        points[tag.value] = {
            "epoch": found.idp.epoch_idx,
            "generation": manifest["generation"],
            "keys": list(state),
            "class": state["optimizer_type"],
            "names": names,
            "slots": {
                names[index]: {
                    key: None if value is None else [float(item) for item in torch.as_tensor(value).flatten()]
                    for key, value in slot.items()
                }
                for index, slot in slots.items()
            },
            "counters": state["counters"],
        }
    return {
        "id": run.id,
        "state": finite(run.state()),
        "idps": [finite(idp.state()) for idp in NNRun.load(run.id).idps],
        "series": finite(NNRun.load(run.id)._epoch_series()),
        "points": points,
    }


def train(root, optim, n_epochs, salt):
    os.chdir(root)
    return told(model().train(train_params(optim, n_epochs), salt=salt))


def resume(root, optim, run, n_epochs, salt):
    """Goes on from a run's last checkpoint, and says how."""
    os.chdir(root)
    params = train_params(optim, n_epochs, resume_from_run_id=run, resume_from_checkpoint="last")
    child = model().train(params, salt=salt)
    return {"status": child.resume_status.state(), **told(child)}


def loaded(root, run):
    """The values that NNx finds in a run that Rust saved."""
    os.chdir(root)
    with open(os.path.join("runs", run, "run.yaml"), encoding="utf-8") as handle:
        text = handle.read()
    found = NNRun.load(run)
    return {
        "same_text": yaml.safe_dump(found.state(), sort_keys=True) == text,
        **told(found),
        "best": os.readlink("runs/best"),
    }


def main():
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    # The library talks of its progress on the standard output.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    asked = {
        function.__name__: function
        for function in (yaml_texts, histories, save, pair, whole, train, resume, loaded)
    }
    for line in sys.stdin:
        question = json.loads(line)
        try:
            answer = {"ok": asked[question.pop("ask")](**question)}
        except Exception as error:  # noqa: BLE001
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
