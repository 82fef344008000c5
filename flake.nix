{
  description = "exam_pp: a rubric-grading workbench for retrieval and RAG systems";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs = { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" "aarch64-darwin" ];
      forAll = f: nixpkgs.lib.genAttrs systems (system: f system nixpkgs.legacyPackages.${system});

      # The lists have the packages of pyproject.toml. The extras autojudge, browser, diversity, irds and smollm2 are
      # missing, because nixpkgs lacks packages of theirs, such as autojudge-base.
      core = py: with py; [ click duckdb ir-measures msgspec nanoarrow nltk numpy pydantic rapidfuzz rich scipy zlib-ng ];
      models = py: with py; [ accelerate ctranslate2 safetensors tokenizers torch transformers ];
      tests = py: with py; [
        cbor2 coverage fastapi gguf hypothesis ipykernel jsonschema nbclient nbformat openai pandas pytest
        pytest-timeout pytest-xdist pyyaml requests rouge-score starlette uvicorn
      ];

      exam_pp = py: py.buildPythonApplication {
        pname = "exam_pp";
        version = (builtins.fromTOML (builtins.readFile ./pyproject.toml)).project.version;
        pyproject = true;
        src = self;
        build-system = [ py.hatchling ];
        dependencies = core py ++ models py;
        optional-dependencies = {
          car = [ py.cbor2 ];
          openai = [ py.openai ];
          pandas = [ py.pandas ];
          rouge = [ py.rouge-score ];
        };
        nativeCheckInputs = [ py.pytestCheckHook ] ++ tests py;
        meta = {
          description = "Evaluate retrieval and RAG systems with test banks and local language models";
          license = nixpkgs.lib.licenses.bsd3;
          mainProgram = "exam-pp";
        };
      };

      # Tools of scripts/check; the scripts themselves make a virtual environment and work here, too.
      shell = pkgs: py: pkgs.mkShell {
        packages = [
          (py.python.withPackages (p: core p ++ models p ++ tests p))
          pkgs.mypy
          pkgs.ruff
        ];
        shellHook = "export PYTHONPATH=$PWD:$PYTHONPATH";
      };
    in
    {
      packages = forAll (_: pkgs: { default = exam_pp pkgs.python3Packages; });

      checks = forAll (system: _: { default = self.packages.${system}.default; });

      devShells = forAll (system: pkgs: {
        default = shell pkgs pkgs.python3Packages;
        cpu = shell pkgs pkgs.python3Packages;
      } // nixpkgs.lib.optionalAttrs (system == "x86_64-linux") {
        cuda =
          let
            cudaPkgs = import nixpkgs {
              inherit system;
              config = { allowUnfree = true; cudaSupport = true; };
            };
          in
          shell cudaPkgs cudaPkgs.python3Packages;
      });
    };
}
