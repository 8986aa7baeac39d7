"""Take over the weights of the fused engine: the same networks in another layout, for tests and comparisons."""

import numpy as np
import torch

from enco.conditionals.fused import FusedConditionals
from enco.conditionals.heads import VariableHeads
from enco.conditionals.torch.bank import Bank
from enco.conditionals.torch.network import AdditiveNetwork
from enco.errors import SettingsError

__all__ = ["copy_fused_weights"]


def copy_fused_weights(bank: Bank, fused: FusedConditionals, heads: VariableHeads) -> None:
    """Overwrite the weights of a bank; moments, counters and random streams stay.

    Parameters
    ----------
    bank : Bank
        Of built-in networks with one hidden layer.
    fused : FusedConditionals
        On the same data and candidates, with as many hidden units. A parent that is a number has two rows, w and u.
    heads : VariableHeads
    """
    network, layout, pairs = bank.network, fused.layout, fused.candidates
    if not isinstance(network, AdditiveNetwork) or network.n_layers != 1 or network.n_hidden != layout.hidden:
        raise SettingsError(
            f"the fused engine has one hidden layer of {layout.hidden} units: take over its weights with layers=1, "
            f"hidden={layout.hidden} and no network of your own"
        )
    for place, variable in enumerate(bank.variables):
        block = fused.weights[layout.start[variable] : layout.start[variable + 1]]
        rows = block.reshape(-1, layout.hidden)
        part = {name: np.zeros(shape, np.float32) for name, shape in network.shapes.items()}
        n_outputs, output_row = int(layout.n_outputs[variable]), int(layout.output_row[variable])
        wide = network.head.n_outputs
        if n_outputs > wide or (network.head.numeric and n_outputs != wide):
            raise SettingsError(
                f"variable {variable} has {n_outputs} outputs in the fused engine and {wide} here: "
                "use density='gaussian' on the same data"
            )
        first_table_row, n_real = 0, part["linear"].shape[0] // 2
        real_slot = 0
        part["bias"][0] = rows[0]
        for pair in range(*pairs.pairs_into(int(variable)).indices(pairs.n_pairs)):
            begin, cause = int(layout.table_row[pair]), int(pairs.cause[pair])
            if heads.numeric[cause]:
                part["linear"][real_slot], part["linear"][n_real + real_slot] = rows[begin], rows[begin + 1]
                real_slot += 1
            else:
                levels = int(heads.n_rows[cause])
                part["tables"][first_table_row : first_table_row + levels] = rows[begin : begin + levels]
                first_table_row += levels
        part["output"][:, :n_outputs] = rows[output_row : output_row + n_outputs].T
        first_bias = (output_row + n_outputs) * layout.hidden
        part["output_bias"][0, :n_outputs] = block[first_bias : first_bias + n_outputs]
        flat = np.concatenate([value.ravel() for value in part.values()])
        bank.weights[place] = torch.from_numpy(flat).to(bank.weights.device)
