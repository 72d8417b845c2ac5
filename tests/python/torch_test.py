"""residual.torch computes what the schemes' C++ text says, on doubles, and can be trained."""

import copy
import io
import json
import os
import pathlib
import subprocess

import pytest

torch = pytest.importorskip("torch")

import residual
import residual.torch
from residual.torch import Stack

WIDTH, ROWS, STRENGTH = 6, 3, 0.7
VALUES = json.loads(
    subprocess.run([os.environ["RESIDUAL_SCHEME_VALUES"]], check=True, capture_output=True).stdout
)


def numbers(first, *shape):
    i = torch.arange(first, first + torch.Size(shape).numel())
    return (2 * (((i * 7919 + 104729) % 65537).double() / 65537) - 1).reshape(shape)


class Tanh(torch.nn.Module):
    def __init__(self, k, width=WIDTH):
        super().__init__()
        self.matrix = torch.nn.Parameter(numbers(1000 + k * width * width, width, width))

    def forward(self, x):
        return STRENGTH * torch.tanh(x @ self.matrix.T)


def stack_of(case):
    count = case["layers"] * case["per_layer"]
    options = {key: value for key, value in case["options"].items() if key != "name"}
    stack = Stack(
        case["scheme"],
        [Tanh(k) for k in range(count)],
        WIDTH,
        side=case["side"],
        other_layers=case["other_layers"],
        blocks_per_layer=case["per_layer"],
        **options,
    ).double()
    own = {name: p for name, p in stack.named_parameters() if not name.startswith("blocks.")}
    assert set(own) == set(case["parameters"])
    with torch.no_grad():
        for name, values in case["parameters"].items():
            own[name].copy_(torch.tensor(values, dtype=torch.float64))
    return stack, own


def name_of(case):
    return "-".join([case["side"], *(str(value) for value in case["options"].values())])


def test_values_cover_the_registry():
    assert {case["scheme"] for case in VALUES} == {each.name for each in residual.schemes()}


def test_every_scheme_has_a_class():
    for each in residual.schemes():
        one = getattr(residual.torch, each.name.replace("-", ""))
        assert issubclass(one, Stack) and each.paper in one.__doc__
    assert residual.torch.ResiDual is residual.torch.ResiDual
    with pytest.raises(AttributeError):
        residual.torch.ResiDuel


@pytest.mark.parametrize("case", VALUES, ids=name_of)
def test_output_and_slope_are_those_of_cpp(case):
    stack, _ = stack_of(case)
    x = numbers(0, ROWS, WIDTH)
    wanted = torch.tensor(case["output"], dtype=torch.float64).reshape(ROWS, WIDTH)
    torch.testing.assert_close(stack(x), wanted, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(stack(x[None])[0], wanted, rtol=1e-12, atol=1e-12)
    _, slope = torch.autograd.functional.jvp(stack, x, numbers(300, ROWS, WIDTH))
    wanted = torch.tensor(case["slope"], dtype=torch.float64).reshape(ROWS, WIDTH)
    torch.testing.assert_close(slope, wanted, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("case", [c for c in VALUES if c["calibrated"]], ids=name_of)
def test_calibration_is_that_of_cpp(case):
    stack, own = stack_of(case)
    stack.calibrate(numbers(0, ROWS, WIDTH))
    for name, values in case["calibrated"].items():
        torch.testing.assert_close(own[name].detach(), torch.tensor(values, dtype=torch.float64))


@pytest.mark.parametrize("case", [c for c in VALUES if c["side"] == "encoder"], ids=name_of)
def test_gradient_reaches_every_parameter(case):
    stack, own = stack_of(case)
    stack(numbers(0, ROWS, WIDTH)).square().sum().backward()
    unused = {name for name, p in stack.named_parameters() if p.grad is None}
    assert not unused, unused


def test_residual_is_post_ln_plus_the_dual_norm():
    blocks = [Tanh(k) for k in range(4)]
    dual = residual.torch.ResiDual(blocks, WIDTH).double()
    post = residual.torch.PostLn(blocks, WIDTH).double()
    x = numbers(0, ROWS, WIDTH)
    d, z = x, x
    for block in blocks:
        f = block(z)
        d, z = d + f, torch.nn.functional.layer_norm(z + f, (WIDTH,), eps=1e-5)
    wanted = post(x) + torch.nn.functional.layer_norm(d, (WIDTH,), eps=1e-7)
    torch.testing.assert_close(dual(x), wanted)


def test_blocks_get_further_arguments():
    class Masked(torch.nn.Module):
        def forward(self, x, mask, *, scale):
            return scale * x.masked_fill(mask, 0)

    stack = residual.torch.TauResNet([Masked(), Masked()], WIDTH).double()
    x, mask = numbers(0, ROWS, WIDTH), torch.zeros(ROWS, WIDTH, dtype=torch.bool)
    torch.testing.assert_close(stack(x, mask, scale=2**0.5), 4 * x)
    torch.testing.assert_close(stack(x, ~mask, scale=1), x)


def test_trains_copies_and_comes_back_from_a_file():
    torch.manual_seed(1)
    stack = residual.torch.ResiDual([Tanh(k, 8) for k in range(6)], 8).float()
    adam = torch.optim.Adam(stack.parameters(), 1e-2)
    x, y = torch.randn(32, 8), torch.randn(32, 8)
    losses = []
    for _ in range(100):
        adam.zero_grad()
        loss = (stack(x) - y).square().mean()
        loss.backward()
        adam.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 2, losses[::20]
    file = io.BytesIO()
    torch.save(stack, file)
    file.seek(0)
    read = torch.load(file, **({"weights_only": False} if torch.__version__ >= "2" else {}))
    for other in (copy.deepcopy(stack), read):
        assert torch.equal(other(x), stack(x))
        with torch.no_grad():
            other.blocks[0].matrix.zero_()
        assert not torch.equal(other(x), stack(x))
    fresh = residual.torch.ResiDual([Tanh(k, 8) for k in range(6)], 8).float()
    fresh.load_state_dict(stack.state_dict())
    assert torch.equal(fresh(x), stack(x))


@pytest.mark.skipif(
    not hasattr(torch, "compile") or not hasattr(torch, "export"),
    reason="this PyTorch has neither torch.compile nor torch.export",
)
@pytest.mark.parametrize("scheme", ["resi-dual", "mhc", "attention-residuals"])
def test_compiles_in_one_graph_and_exports(scheme):
    stack = Stack(scheme, [Tanh(k) for k in range(4)], WIDTH).double()
    x = numbers(0, ROWS, WIDTH)
    compiled = torch.compile(stack, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(x), stack(x))
    torch.testing.assert_close(torch.export.export(stack, (x,)).module()(x), stack(x))


def test_parameters_have_the_names_and_shapes_of_model_files(reverse_model):
    model = residual.Model(reverse_model)
    prefix = "encoder.residual."
    inside = {
        name.removeprefix(prefix): model.tensor(name) for name in model if name.startswith(prefix)
    }
    width = model.config["model"]["width"]
    layers = model.config["model"]["encoder_layers"]
    stack = residual.torch.ResiDual([torch.nn.Identity() for _ in range(2 * layers)], width)
    assert {n: tuple(p.shape) for n, p in stack.state_dict().items()} == {
        n: tuple(p.shape) for n, p in inside.items()
    }
    stack.load_state_dict(inside)


def test_tensors_share_the_model_s_bytes(reverse_model):
    model = residual.Model(reverse_model)
    for name, tensor in model.tensors().items():
        assert tensor.data_ptr() == model[name].__array_interface__["data"][0], name
        assert torch.equal(tensor, torch.from_numpy(model[name]))
    from_dlpack = torch.from_dlpack(model[name])
    assert from_dlpack.data_ptr() == tensor.data_ptr()


def test_sentencepiece_and_torch_live_in_one_process(marian_directory, tmp_path, monkeypatch):
    monkeypatch.setenv("RESIDUAL_CACHE", os.fspath(tmp_path))
    assert residual.Translator(marian_directory).translate("w3 w4").text
    assert torch.ones(2).sum() == 2


def test_errors_name_what_is_wrong():
    block = [Tanh(0), Tanh(1)]
    with pytest.raises(residual.Error, match='did you mean "resi-dual"'):
        Stack("resi-dua", block, WIDTH)
    with pytest.raises(residual.Error, match='did you mean "eta"'):
        residual.torch.ResiDual(block, WIDTH, etta=1)
    with pytest.raises(residual.Error, match="blocks_per_layer"):
        residual.torch.ResiDual(block[:1], WIDTH)
    with pytest.raises(residual.Error, match="side"):
        residual.torch.ResiDual(block, WIDTH, side="middle")


def test_initial_values_are_the_scheme_s():
    blocks = [torch.nn.Identity() for _ in range(12)]
    assert residual.torch.DeepNorm(blocks, 8).initial("value") == (
        "xavier_normal",
        pytest.approx((8 * 6) ** -0.25),
        0,
    )
    assert residual.torch.PostLn(blocks, 8).initial("inner")[0] == "fan_in_uniform"
