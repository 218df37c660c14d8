//! NNx's enums: each member is a text, in files as in run ids.

use crate::class::python_enum;

python_enum! {
    /// The activation functions of hidden layers.
    Activations in "nnx.nn.enum.activations" {
        /// Exponential linear unit.
        Elu = "ELU" => "elu",
        /// Scaled exponential linear unit.
        Selu = "SELU" => "selu",
        /// Hyperbolic tangent.
        Tanh = "TANH" => "tanh",
        /// Rectified linear unit.
        Relu = "RELU" => "relu",
        /// Softmax over the last axis.
        Softmax = "SOFTMAX" => "softmax",
        /// Logistic function.
        Sigmoid = "SIGMOID" => "sigmoid",
        /// Smooth rectifier.
        Softplus = "SOFTPLUS" => "softplus",
        /// Leaky rectified linear unit, the default.
        LeakyRelu = "LEAKY_RELU" => "leaky_relu",
    }
}

python_enum! {
    /// Where a model runs.
    Devices in "nnx.nn.enum.devices" {
        /// The processor, the default.
        Cpu = "CPU" => "cpu",
        /// Apple's Metal.
        Mps = "MPS" => "mps",
        /// An NVIDIA GPU.
        Cuda = "CUDA" => "cuda",
    }
}

python_enum! {
    /// The loss that training minimises.
    Losses in "nnx.nn.enum.losses" {
        /// Cross entropy of logits, the default.
        CrossEntropy = "CROSS_ENTROPY" => "cross_entropy",
        /// Mean squared error.
        MeanSquaredError = "MEAN_SQUARED_ERROR" => "mean_squared_error",
        /// Binary cross entropy of logits.
        BinaryCrossEntropy = "BINARY_CROSS_ENTROPY" => "binary_cross_entropy",
        /// Negative log likelihood.
        NegativeLogLikelihood = "NEGATIVE_LOG_LIKELIHOOD" => "negative_log_likelihood",
    }
}

python_enum! {
    /// The built-in optimizers.
    Optims in "nnx.nn.enum.optims" {
        /// Stochastic gradient descent.
        Sgd = "SGD" => "sgd",
        /// Adam.
        Adam = "ADAM" => "adam",
        /// Adam with AMSGrad.
        AdamAmsgrad = "ADAM_AMSGRAD" => "adam_amsgrad",
        /// Stochastic gradient descent with Nesterov momentum.
        SgdNesterov = "SGD_NESTEROV" => "sgd_nesterov",
        /// Adam with decoupled weight decay.
        Adamw = "ADAMW" => "adamw",
    }
}

impl Optims {
    /// Whether the optimizer takes one momentum; the others take a pair of betas.
    pub fn is_sgd(self) -> bool {
        matches!(self, Self::Sgd | Self::SgdNesterov)
    }
}

python_enum! {
    /// The learning rate schedules.
    Schedulers in "nnx.nn.enum.schedulers" {
        /// Lowers the rate when a metric stops improving.
        ReduceLrOnPlateau = "REDUCE_LR_ON_PLATEAU" => "reduce_lr_on_plateau",
        /// Lowers the rate every so many steps.
        Step = "STEP" => "step",
        /// Follows a cosine.
        CosineAnnealing = "COSINE_ANNEALING" => "cosine_annealing",
        /// Rises to a maximum once and falls again.
        OneCycle = "ONE_CYCLE" => "one_cycle",
        /// Rises linearly, then falls linearly.
        LinearWarmupDecay = "LINEAR_WARMUP_DECAY" => "linear_warmup_decay",
    }
}

python_enum! {
    /// The checkpoints that a training run keeps.
    Checkpoints in "nnx.nn.enum.checkpoints" {
        /// After the first quarter.
        Q1 = "Q1" => "q1",
        /// After the second quarter.
        Q2 = "Q2" => "q2",
        /// After the third quarter.
        Q3 = "Q3" => "q3",
        /// The best one so far.
        Best = "BEST" => "best",
        /// The latest one.
        Last = "LAST" => "last",
        /// After the first epoch.
        First = "FIRST" => "first",
    }
}
