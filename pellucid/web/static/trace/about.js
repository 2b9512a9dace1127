// What each stage says of itself, in words.

const ABOUT_POSITIONS = {
  sinusoidal: "Positions are added as sines and cosines of many wavelengths, so that the order of the tokens is known.",
  learned: "A learned vector for its position is added.",
  rotary: "Positions are not added here: attention rotates queries and keys by them.",
  none: "This model adds no positions.",
};

const ABOUT_NORM = {
  layer: (config) => `Layer norm subtracts from each row its mean and divides by its standard deviation; then every feature is multiplied by its ` +
    `γ and β is added. So the ${config.d_model} features of a token come to one scale, which γ and β set.`,
  rms: () => "RMS norm divides each row by the root of the mean of its squares; then every feature is multiplied by its γ. No mean is subtracted.",
  batch: () => "Batch norm subtracts from each feature its mean and divides by its standard deviation. Both were gathered over many tokens in training; then γ and β set the scale.",
};

const ABOUT = {
  input: ({ config }) => `Each token is looked up in the embedding matrix, which has ${config.d_model} features for every token of the vocabulary` +
    `${config.embedding_scale ? "; the row is multiplied by the square root of that number" : ""}. ${ABOUT_POSITIONS[config.positions]}`,
  norm: ({ config }) => `${ABOUT_NORM[config.norm](config)} This model is pre-norm: the norm stands before the sublayer, which reads its result, while the ` +
    "residual connection goes around both. The paper is post-norm: there the norm stands after the addition.",
  output: ({ config, stage }) => (config.norm_place === "pre" ? `${ABOUT_NORM[config.norm](config)} A pre-norm model leaves the last sum unnormalised, so the ` +
    `${stage.stack} ends with a norm of its own.` : `What the last layer of the ${stage.stack} gives is the output of the ${stage.stack}.`) + (stage.stack === "encoder" ? " The result is read by the cross-attention of every decoder layer." : ""),
  projections: ({ config, stage }) => "A head projects every token to three vectors: a query, what the token looks for; a key, what it is found by; and a value, " +
    `what it passes on.${stage.sublayer === "cross_attention" ? " Here queries come from the target; keys and values come from M, the output of the encoder."
      : config.positions === "rotary" ? " Queries and keys are rotated by their positions." : ""}`,
  scores: ({ formulas }) => `The score of a query and a key is their dot product${formulas.some((each) => each.terms.includes("√")) ?
    ", divided by the square root of the head size so that large heads do not have large scores" : ""}.`,
  mask: () => "In the decoder a token may not attend to later ones: their scores become −∞, whose exponential is 0.",
  softmax: () => "Softmax takes the exponential of every score and divides each row by its sum: the attention weights of a query lie between 0 and 1, and sum to 1 (100 %).",
  weighted_sum: () => "The output of a head is the sum of all values, each multiplied by its attention weight.",
  joined: () => "The outputs of all heads are written side by side, and one more matrix projects them back to the width of the model.",
  residual: ({ config }) => "What the sublayer read is added to what it gives (the residual connection): so a layer changes a token's vector, and need not make it anew." +
    (config.norm_place === "post" ? ` ${ABOUT_NORM[config.norm](config)} This model is post-norm, as in the paper: the norm stands after the addition.` : ""),
  network: ({ config }) => `The feed-forward network works on each token by itself: from ${config.d_model} features to ${config.feed_forward}, through an ` +
    `activation${config.activation === "relu" ? " that sets negative values to 0" : ""}, and back to ${config.d_model}.`,
  logits: () => "The decoder's output at a position is multiplied with the vector of every token of the vocabulary, which gives a logit for each.",
};

export const about = (view) => ABOUT[view.stage.step](view);
