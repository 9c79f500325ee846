"""Simulations with other packages: molecules, differential equations, rigid bodies."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from .data import normal, uniform
from .registry import Program, model


@model(quick=True, small={"particles": 32}, large={"particles": 512})
def md_lennard_jones(particles: int = 256, steps: int = 4) -> Program:
    """Steps of jax-md's velocity Verlet under Lennard-Jones forces between all pairs."""
    from jax_md import energy, simulate, space

    displacement, shift = space.periodic(12.0)
    potential = energy.lennard_jones_pair(displacement)
    init, apply = simulate.nve(potential, shift, 1e-3)
    places = jnp.stack(jnp.meshgrid(*[jnp.arange(8.0)] * 3), -1).reshape(-1, 3)[:particles] * 1.5
    state = init(jax.random.key(0), places, kT=0.1)

    def run(state):
        return jax.lax.fori_loop(0, steps, lambda _, s: apply(s), state)

    return run, (state,)


@model(small={"batch": 16}, large={"batch": 65536})
def diffrax_lorenz(batch: int = 8192) -> Program:
    """A batch of adaptive Dormand-Prince solutions of the Lorenz system."""
    import diffrax

    def field(t, y, args):
        sigma, rho, beta = args
        x, v, z = y[..., 0], y[..., 1], y[..., 2]
        return jnp.stack([sigma * (v - x), x * (rho - z) - v, x * v - beta * z], -1)

    def solve(starts, args):
        return diffrax.diffeqsolve(
            diffrax.ODETerm(field),
            diffrax.Tsit5(),
            0.0,
            0.5,
            0.01,
            starts,
            args,
            stepsize_controller=diffrax.PIDController(1e-4, 1e-4),
            max_steps=256,
        ).ys

    return solve, (normal(batch, 3), jnp.asarray([10.0, 28.0, 8 / 3]))


@model(small={"width": 8, "batch": 4}, large={"width": 256, "batch": 256})
def diffrax_neural_training(width: int = 64, batch: int = 64) -> Program:
    """The gradient of a neural differential equation, by backpropagation through its solver."""
    import diffrax

    from .data import descend, weights

    parameters = weights({"a": (4, width), "b": (width, width), "c": (width, 4)})

    def field(t, y, w):
        return jnp.tanh(jax.nn.softplus(jax.nn.softplus(y @ w["a"]) @ w["b"]) @ w["c"])

    def loss(w, starts):
        times = diffrax.SaveAt(ts=jnp.linspace(0, 1, 10))
        term, solver = diffrax.ODETerm(field), diffrax.Tsit5()
        found = diffrax.diffeqsolve(term, solver, 0.0, 1.0, 0.1, starts, w, saveat=times)
        return (found.ys**2).mean()

    return descend(loss), (parameters, normal(batch, 4))


_LIMB = """
<body pos="{pos}">
  <joint type="hinge" axis="0 1 0" range="-100 30" damping="2" armature="0.02"/>
  <joint type="hinge" axis="1 0 0" range="-30 30" damping="2" armature="0.02"/>
  <geom type="capsule" fromto="0 0 0 0 0 -0.35" size="0.05"/>
  <body pos="0 0 -0.36">
    <joint type="hinge" axis="0 1 0" range="-140 5" damping="2" armature="0.01"/>
    <geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.04"/>
    <body pos="0 0 -0.34"><geom name="{end}" type="sphere" size="0.06"/></body>
  </body>
</body>"""


@model(small={"batch": 1}, large={"batch": 256})
def mjx_humanoid(batch: int = 32) -> Program:
    """A step of MuJoCo XLA for a batch: a torso with four limbs, contacts with the ground."""
    import mujoco
    from mujoco import mjx

    places = {"left_foot": "0 0.1 -0.2", "right_foot": "0 -0.1 -0.2"}
    places |= {"left_hand": "0 0.25 0.2", "right_hand": "0 -0.25 0.2"}
    limbs = "".join(_LIMB.format(pos=pos, end=end) for end, pos in places.items())
    contacts = "".join(f'<pair geom1="{end}" geom2="ground"/>' for end in places)
    described = f"""
    <mujoco>
      <option timestep="0.005" iterations="4" ls_iterations="4"><flag eulerdamp="disable"/></option>
      <worldbody>
        <geom name="ground" type="plane" size="5 5 0.1"/>
        <body pos="0 0 1.1"><freejoint/>
          <geom type="capsule" fromto="0 0 -0.2 0 0 0.2" size="0.1"/>{limbs}
        </body>
      </worldbody>
      <contact>{contacts}</contact>
    </mujoco>"""
    body = mjx.put_model(mujoco.MjModel.from_xml_string(described))
    data = mjx.make_data(body)

    def step(data, velocity):
        moved = mjx.step(body, data.replace(qvel=velocity))
        return moved.qpos, moved.qvel

    starts = uniform(batch, *data.qvel.shape, low=-0.1, high=0.1)
    return jax.vmap(step, (None, 0)), (data, starts)
