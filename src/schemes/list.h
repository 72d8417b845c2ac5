#pragma once

#include "schemes/admin.h"
#include "schemes/attention_residuals.h"
#include "schemes/b2t.h"
#include "schemes/deepnorm.h"
#include "schemes/denseformer.h"
#include "schemes/dlcl.h"
#include "schemes/hyper_connections.h"
#include "schemes/keel.h"
#include "schemes/laurel.h"
#include "schemes/ln_scaling.h"
#include "schemes/mhc.h"
#include "schemes/mix_ln.h"
#include "schemes/peri_ln.h"
#include "schemes/post_ln.h"
#include "schemes/pre_ln.h"
#include "schemes/resi_dual.h"
#include "schemes/rezero.h"
#include "schemes/siamese_norm.h"
#include "schemes/t_fixup.h"
#include "schemes/tau_resnet.h"

namespace residual::schemes {

template <class... S>
struct List {};

// The one list. A scheme that stands here is tested, trainable, decodable, probed and in the study.
using Schemes = List<PostLn, PreLn, ResiDual, DeepNorm, Admin, B2t, Dlcl, TFixup, ReZero, TauResNet,
                     // since 2023
                     DenseFormer, Laurel, MixLn, PeriLn, LnScaling, Keel, SiameseNorm,
                     HyperConnections, Mhc, AttentionResiduals>;

}  // namespace residual::schemes
