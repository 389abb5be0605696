import pytest

from probe.pretraining.architectures import FAMILIES
from probe.pretraining.settings import PretrainSettings
from probe.pretraining.tokenizers import train_tokenizer
from probe.pretraining.training import pretrain


@pytest.fixture(scope="session")
def texts(sample_texts) -> list[str]:
    return [text[:3000] for text in sample_texts]


@pytest.fixture(scope="session")
def tokenizers(texts):
    return {family: train_tokenizer(family, texts, 600, 128) for family in FAMILIES}


@pytest.fixture(scope="session")
def trained(tmp_path_factory, small_corpus):
    """Folder of a finished training by family, made when first asked for."""
    made = {}

    def get(family: str):
        if family not in made:
            made[family] = tmp_path_factory.mktemp(family) / "model"
            settings = PretrainSettings(
                family,
                corpus=str(small_corpus),
                size="tiny",
                steps=4,
                batch_tokens=512,
                checkpoint_every=2,
                device="cpu",
                dtype="float16",
            )
            pretrain(settings, made[family])
        return made[family]

    return get
