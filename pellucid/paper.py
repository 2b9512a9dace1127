"""The Transformer of "Attention Is All You Need" (Vaswani et al., 2017): all of it in one file, in the paper's order.

The numbers in the comments are sections, equations (eq.), figures and tables of the paper. To see the model work, run

    python -m pellucid.paper

It trains a small model to translate numbers from English words to German words, which takes about a minute on one
CPU core, and then translates numbers that were not in the training data. Words change places, as in real sentences:

    forty one thousand three  ->  ein und vierzig tausend drei

Left out, because the model is the same without them: learning a byte-pair vocabulary (5.1; here a token is a word),
training on several GPUs (5.2), averaging checkpoints (6.1), and caching keys and values between steps of the search.
"""

import math
import random
from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

PAD, BOS, EOS = 0, 1, 2  # ids of padding, of the beginning and of the end of a sentence
Pair = tuple[list[int], list[int]]  # ids of a source and of its translation, the target; each ends with EOS


# ---- 3.1 Encoder and Decoder Stacks --------------------------------------------------------------------------------
class EncoderLayer(nn.Module):  # figure 1, left
    """Two sub-layers, each LayerNorm(x + Sublayer(x)). x: (batch, source, d_model), and so is the result."""

    def __init__(self, d_model: int, d_ff: int, h: int, P_drop: float) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, h)  # 3.2.2
        self.feed_forward = FeedForward(d_model, d_ff)  # 3.3
        self.norm_1, self.norm_2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(P_drop)  # 5.4: on the output of each sub-layer

    def forward(self, x: Tensor, keep: Tensor) -> Tensor:
        output, _ = self.self_attention(x, x, keep)
        x = self.norm_1(x + self.dropout(output))
        result: Tensor = self.norm_2(x + self.dropout(self.feed_forward(x)))
        return result


class DecoderLayer(nn.Module):  # figure 1, right
    """Three sub-layers; the second attends to `memory`, the encoder's output. Returns x and the weights of that one."""

    def __init__(self, d_model: int, d_ff: int, h: int, P_drop: float) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, h)
        self.cross_attention = MultiHeadAttention(d_model, h)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.norm_1, self.norm_2, self.norm_3 = nn.LayerNorm(d_model), nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(P_drop)

    def forward(self, x: Tensor, keep: Tensor, memory: Tensor, memory_keep: Tensor) -> tuple[Tensor, Tensor]:
        output, _ = self.self_attention(x, x, keep)
        x = self.norm_1(x + self.dropout(output))
        output, weights = self.cross_attention(x, memory, memory_keep)
        x = self.norm_2(x + self.dropout(output))
        x = self.norm_3(x + self.dropout(self.feed_forward(x)))
        return x, weights


# ---- 3.2 Attention -------------------------------------------------------------------------------------------------
def attention(Q: Tensor, K: Tensor, V: Tensor, keep: Tensor) -> tuple[Tensor, Tensor]:  # 3.2.1, eq. (1)
    """softmax(Q K^T / sqrt(d_k)) V, and the weights, which are the softmax: (batch, h, query, key).

    Q: (batch, h, query, d_k), K and V: (batch, h, key, d_k). The mask `keep` is boolean, True = may attend; it has the
    shape of the weights or broadcasts to it, and leaves every query at least one key."""
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1])  # (batch, h, query, key)
    weights = scores.masked_fill(~keep, -math.inf).softmax(dim=-1)  # over the keys: each row sums to 1
    return weights @ V, weights


class MultiHeadAttention(nn.Module):  # 3.2.2
    """Concat(head_1, ..., head_h) W_O with head_i = attention(x W_Q_i, y W_K_i, y W_V_i). No biases."""

    def __init__(self, d_model: int, h: int) -> None:
        super().__init__()
        self.h, self.d_k = h, d_model // h
        # W_Q holds W_Q_1 ... W_Q_h side by side: (d_model, h * d_k), which is (d_model, d_model). So do W_K and W_V.
        self.W_Q, self.W_K, self.W_V, self.W_O = (matrix(d_model, d_model) for _ in range(4))

    def forward(self, x: Tensor, y: Tensor, keep: Tensor) -> tuple[Tensor, Tensor]:
        """Queries from x (batch, query, d_model), keys and values from y (batch, key, d_model)."""
        QKV = x @ self.W_Q, y @ self.W_K, y @ self.W_V
        # (batch, length, h * d_k) -> (batch, length, h, d_k) -> (batch, h, length, d_k)
        Q, K, V = (all_heads.view(*all_heads.shape[:2], self.h, self.d_k).transpose(1, 2) for all_heads in QKV)
        output, weights = attention(Q, K, V, keep)
        concat = output.transpose(1, 2).flatten(2)  # (batch, h, query, d_k) -> (batch, query, h * d_k)
        return concat @ self.W_O, weights


def matrix(rows: int, columns: int) -> nn.Parameter:
    """A weight matrix with its first values. The paper does not give them; Xavier initialisation is usual."""
    return nn.Parameter(nn.init.xavier_uniform_(torch.empty(rows, columns)))


# 3.2.3: the three uses of attention    queries from    keys and values from    keep
#     encoder-decoder attention         the decoder     the encoder's output    padding(source)
#     encoder self-attention            the encoder     the encoder             padding(source)
#     decoder self-attention            the decoder     the decoder             causal(length)
def padding(ids: Tensor) -> Tensor:
    """Every query may attend to every key that is not padding: (batch, length) -> (batch, 1, 1, key)."""
    return (ids != PAD)[:, None, None, :]


def causal(length: int) -> Tensor:
    """A position may attend to itself and to earlier ones: (query, key). Padding stands last, so it is hidden too."""
    return torch.ones(length, length, dtype=torch.bool).tril()


# ---- 3.3 Position-wise Feed-Forward Networks -----------------------------------------------------------------------
class FeedForward(nn.Module):
    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        self.W_1, self.b_1 = matrix(d_model, d_ff), nn.Parameter(torch.zeros(d_ff))
        self.W_2, self.b_2 = matrix(d_ff, d_model), nn.Parameter(torch.zeros(d_model))

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(x @ self.W_1 + self.b_1) @ self.W_2 + self.b_2  # eq. (2)


# ---- 3.4 Embeddings and Softmax, 3.5 Positional Encoding, and the whole model --------------------------------------
class Transformer(nn.Module):  # figure 1
    """The paper's base model (table 3) has d_model=512, d_ff=2048, h=8, N=6, P_drop=0.1 and a vocabulary of 37000."""

    def __init__(self, vocabulary: int, d_model: int, d_ff: int, h: int, N: int, P_drop: float = 0.1) -> None:
        super().__init__()
        # 3.4: one matrix for the source embedding, the target embedding and the logits
        self.embedding = nn.Parameter(torch.randn(vocabulary, d_model) * d_model**-0.5)
        self.encoder = nn.ModuleList(EncoderLayer(d_model, d_ff, h, P_drop) for _ in range(N))
        self.decoder = nn.ModuleList(DecoderLayer(d_model, d_ff, h, P_drop) for _ in range(N))
        self.dropout = nn.Dropout(P_drop)  # 5.4: on the sum of embedding and position too

    def embed(self, ids: Tensor) -> Tensor:  # 3.4, 3.5
        """(batch, length) -> (batch, length, d_model)"""
        d_model = self.embedding.shape[1]
        x = nn.functional.embedding(ids, self.embedding) * math.sqrt(d_model)
        embedded: Tensor = self.dropout(x + positional_encoding(ids.shape[1], d_model).to(x))
        return embedded

    def encode(self, source: Tensor) -> Tensor:
        """Ids (batch, source) -> memory (batch, source, d_model)."""
        x = self.embed(source)
        for layer in self.encoder:
            x = layer(x, padding(source))
        return x

    def decode(self, target: Tensor, memory: Tensor, source: Tensor) -> tuple[Tensor, Tensor]:
        """Logits of the token that follows each token of `target`: (batch, target, vocabulary); their softmax is taken
        in the loss and in the search. Also the last layer's weights on `memory`: (batch, h, target, source)."""
        x = self.embed(target)
        for layer in self.decoder:
            x, weights = layer(x, causal(target.shape[1]), memory, padding(source))
        return x @ self.embedding.T, weights


def positional_encoding(length: int, d_model: int) -> Tensor:  # 3.5
    """PE(pos, 2i) = sin(pos / 10000^(2i / d_model)), PE(pos, 2i + 1) = cos of the same: (length, d_model)."""
    pos, two_i = torch.arange(length, dtype=torch.float64), torch.arange(0, d_model, 2, dtype=torch.float64)
    angle = pos[:, None] / 10000 ** (two_i / d_model)  # (length, d_model / 2)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)  # (length, d_model / 2, 2) -> (length, d_model)


# ---- 5 Training ----------------------------------------------------------------------------------------------------
def batches(pairs: list[Pair], tokens: int, rng: random.Random) -> Iterator[tuple[Tensor, Tensor]]:  # 5.1
    """Endless (source, target), both (batch, length): pairs of about the same length, up to `tokens` target tokens."""
    while True:
        groups: list[list[Pair]] = [[]]
        for pair in sorted(rng.sample(pairs, len(pairs)), key=lambda pair: len(pair[1])):  # equal lengths stay shuffled
            if (len(groups[-1]) + 1) * len(pair[1]) > tokens:
                groups.append([])
            groups[-1].append(pair)
        rng.shuffle(groups)
        for group in groups:
            source, target = ([torch.tensor(pair[side]) for pair in group] for side in (0, 1))
            yield pad_sequence(source, batch_first=True), pad_sequence(target, batch_first=True)  # with 0, which is PAD


def learning_rate(step: int, d_model: int, warmup_steps: int = 4000) -> float:  # 5.3, eq. (3)
    return float(d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5))  # steps count from 1


def cross_entropy(logits: Tensor, target: Tensor, epsilon_ls: float = 0.1) -> Tensor:  # 5.4, label smoothing
    """The mean over all tokens that are not padding. The truth is smoothed: 1 - epsilon_ls on the true token plus
    epsilon_ls spread evenly over the vocabulary. logits: (batch, target, vocabulary), target: (batch, target)."""
    log_p = logits.log_softmax(dim=-1)
    log_p_true = log_p.gather(2, target[:, :, None]).squeeze(2)  # (batch, target, 1) -> (batch, target)
    smoothed = (1 - epsilon_ls) * log_p_true + epsilon_ls * log_p.mean(dim=2)
    return -smoothed[target != PAD].mean()


def train(model: Transformer, pairs: list[Pair], steps: int, warmup_steps: int, tokens: int = 1000) -> None:
    d_model = model.embedding.shape[1]
    adam = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)  # 5.3
    stream = batches(pairs, tokens, random.Random(1))
    model.train()
    for step in range(1, steps + 1):
        source, target = next(stream)
        rate = adam.param_groups[0]["lr"] = learning_rate(step, d_model, warmup_steps)
        shifted = nn.functional.pad(target[:, :-1], (1, 0), value=BOS)  # 3.1: predict each token from those before it
        logits, _ = model.decode(shifted, model.encode(source), source)
        loss = cross_entropy(logits, target)
        adam.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        adam.step()
        if step % 100 == 0:
            print(f"step {step:5}   loss {loss.item():.3f}   learning rate {rate:.5f}")


# ---- 6.1 Beam search -----------------------------------------------------------------------------------------------
@torch.no_grad()
def translate(model: Transformer, source: list[int], beam: int = 4, alpha: float = 0.6) -> list[int]:
    """The target with the highest log P / penalty that beam search finds; beam=1 is greedy search. The length penalty,
    ((5 + length) / 6)^alpha, is from Wu et al. (2016), which the paper cites for it."""
    model.eval()
    ids, longest = torch.tensor([source]), len(source) + 50
    memory = model.encode(ids)
    alive: list[tuple[float, list[int]]] = [(0.0, [BOS])]  # log P and tokens, the best first
    ended: list[tuple[float, list[int]]] = []  # log P / penalty and tokens
    for length in range(1, longest + 1):
        targets = torch.tensor([tokens for _, tokens in alive])  # (alive, length)
        logits, _ = model.decode(targets, memory.expand(len(alive), -1, -1), ids)  # memory: (alive, source, d_model)
        log_P = torch.tensor([score for score, _ in alive])[:, None] + logits[:, -1].log_softmax(dim=-1)
        scores, places = log_P.flatten().topk(min(beam, log_P.numel()))  # (alive, vocabulary) -> (alive * vocabulary,)
        parents, alive = alive, []
        for score, place in zip(scores.tolist(), places.tolist(), strict=True):
            parent, token = divmod(place, log_P.shape[1])
            tokens = [*parents[parent][1], token]
            if token == EOS:
                ended.append((score / ((5 + length) / 6) ** alpha, tokens))
            else:
                alive.append((score, tokens))
        # log P only falls, so no target that is alive can end with more than this: stop early if that is too little.
        if not alive or (ended and max(ended)[0] >= alive[0][0] / ((5 + longest) / 6) ** alpha):
            break
    return max(ended or alive)[1][1:]


# ---- A corpus to learn from: the numbers 1 to 999999 in words ------------------------------------------------------
NAMED = [*range(1, 20), *range(20, 100, 10), 100, 1000]  # the numbers that have a word of their own
EN = """one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand"""
DE = """ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn
achtzehn neunzehn zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig hundert tausend"""
ENGLISH, GERMAN = (dict(zip(NAMED, words.split(), strict=True)) for words in (EN, DE))
WORDS = ["<pad>", "<s>", "</s>", *ENGLISH.values(), *GERMAN.values(), "und", "eins"]  # 5.1: one vocabulary for both


def spell(n: int, word: dict[int, str]) -> list[str]:
    if n < 100 and n in word:
        return [word[n]]
    if n < 100:
        ten, unit = word[n - n % 10], word[n % 10]
        return [unit, "und", ten] if word is GERMAN else [ten, unit]  # 21: "ein und zwanzig", "twenty one"
    size = 100 if n < 1000 else 1000
    return [*spell(n // size, word), word[size], *(spell(n % size, word) if n % size else [])]


def pair_of(n: int) -> Pair:
    source, target = spell(n, ENGLISH), spell(n, GERMAN)
    if target[-1] == "ein":
        target[-1] = "eins"  # 1 at the end of a number, "ein" elsewhere: 101 is "ein hundert eins"
    return [WORDS.index(word) for word in source] + [EOS], [WORDS.index(word) for word in target] + [EOS]


def picture(model: Transformer, source: list[int], target: list[int]) -> None:
    """Cross-attention, the mean of the last layer's heads: a row for each target word; the darker, the more weight."""
    ids = torch.tensor([source])
    _, weights = model.decode(torch.tensor([[BOS, *target[:-1]]]), model.encode(ids), ids)
    print("\n" + " " * 9, *(WORDS[key] for key in source))
    for token, row in zip(target, weights[0].mean(dim=0).tolist(), strict=True):
        shades = (" ░▒▓█"[round(4 * weight)] * len(WORDS[key]) for key, weight in zip(source, row, strict=True))
        print(f"{WORDS[token]:>9}", *shades)


def main() -> None:
    torch.set_num_threads(1)  # one core is enough for so small a model, and the sums are the same on every run
    torch.manual_seed(1)
    rng = random.Random(1)
    numbers = list({int(10 ** rng.uniform(0, 6)): None for _ in range(20_000)})  # all different, of 1 to 6 digits
    rng.shuffle(numbers)
    held_out, training = [pair_of(n) for n in numbers[:500]], [pair_of(n) for n in numbers[500:]]
    model = Transformer(len(WORDS), d_model=64, d_ff=256, h=4, N=2)
    train(model, training, steps=1500, warmup_steps=400)  # 5.4: smoothing keeps the loss above 0.728 with 63 words
    outputs = [translate(model, source) for source, _ in held_out]
    right = [output == target for output, (_, target) in zip(outputs, held_out, strict=True)]
    print(f"\n{sum(right)} of {len(right)} numbers not in the training data are translated exactly. Wrong ones first:")
    for i in sorted(range(len(right)), key=lambda i: right[i])[:8]:
        english, truth, german = (" ".join(WORDS[token] for token in ids[:-1]) for ids in (*held_out[i], outputs[i]))
        print(f"  {english} -> {german}   " + ("right" if right[i] else f"WRONG, it is {truth}"))
    picture(model, *max(held_out, key=lambda pair: len(pair[1])))


if __name__ == "__main__":
    main()
