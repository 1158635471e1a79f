/** A workspace on disk, and what tools are given to work in it. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { ArtifactRef, Baseline, Mode } from '@interlock/contracts';
import { sha256Hex } from '@interlock/kit/pure';
import { onTestFinished } from 'vitest';
import { Attachments } from '../src/artifacts.ts';
import { createPlain } from '../src/sandbox/plain.ts';
import type { Sandbox } from '../src/sandbox/sandbox.ts';
import type {
  ExecutionContext,
  Preflight,
  PreflightContext,
  Tool,
  ToolLimits,
  ToolResult,
} from '../src/tools/tool.ts';
import type { Workspace } from '../src/workspace/paths.ts';
import { SeenContent } from '../src/workspace/seen-content.ts';

const MIB = 1024 * 1024;
const LIMITS: ToolLimits = {
  maxChangeBytes: MIB,
  maxFileBytes: 16 * MIB,
  maxArtifactBytes: 32 * MIB,
  maxTimeoutMs: 60_000,
};

/** A folder that is removed when the test ends. */
export function temporaryFolder(name = 'folder'): string {
  const path = realpathSync(mkdtempSync(join(tmpdir(), `interlock-${name}-`)));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

export interface TestWorkspace extends Workspace {
  /** The folder above the workspace: what is outside. */
  readonly outside: string;
  write(path: string, content: string | Uint8Array, mode?: number): string;
  read(path: string): Buffer;
  text(path: string): string;
  at(path: string): string;
}

/** A workspace with some files, in a folder of its own. */
export function testWorkspace(files: Readonly<Record<string, string | Uint8Array>> = {}): TestWorkspace {
  const outside = temporaryFolder('workspace');
  const root = join(outside, 'app');
  mkdirSync(root);
  const at = (path: string): string => join(root, path);
  const workspace: TestWorkspace = {
    root,
    named: root,
    hidden: [],
    outside,
    at,
    write(path, content, mode = 0o644) {
      mkdirSync(dirname(at(path)), { recursive: true });
      writeFileSync(at(path), content, { mode });
      return at(path);
    },
    read: (path) => readFileSync(at(path)),
    text: (path) => readFileSync(at(path), 'utf8'),
  };
  for (const [path, content] of Object.entries(files)) workspace.write(path, content);
  return workspace;
}

/** A session on a workspace: what it has read, what was attached, and the two steps of a call. */
export class TestSession {
  readonly workspace: TestWorkspace;
  readonly attachments = new Attachments();
  readonly artifacts = new Map<string, Uint8Array>();
  readonly seen = new SeenContent();
  reads: Baseline[] = [];
  mode: Mode = 'normal';
  limits = LIMITS;
  sandbox: Sandbox = createPlain({
    shortfall: 'test',
    bash: '/bin/bash',
    path: ['/usr/bin', '/bin'],
    privateDir: '/nonexistent',
  });
  #calls = 0;

  constructor(workspace: TestWorkspace) {
    this.workspace = workspace;
  }

  #surroundings() {
    const { limits, seen } = this;
    const { root, named, hidden } = this.workspace;
    return {
      workspace: { root, named, hidden },
      limits,
      seen,
      readArtifact: (uri: string) => Promise.resolve(this.artifacts.get(uri) ?? null),
    };
  }

  preflight(tool: Tool, input: unknown): Promise<Preflight<unknown>> {
    const context: PreflightContext = {
      ...this.#surroundings(),
      mode: this.mode,
      reads: this.reads,
      sandboxLevel: this.sandbox.level,
    };
    return tool.preflight(input, context);
  }

  context(baselines: readonly Baseline[], more: Partial<ExecutionContext> = {}): ExecutionContext {
    this.#calls += 1;
    return {
      ...this.#surroundings(),
      intent: `call-${this.#calls}`,
      budgets: { timeoutMs: 10_000, outputBytes: 30_000 },
      baselines,
      sandbox: this.sandbox,
      mayWrite: true,
      signal: new AbortController().signal,
      attach: (bytes, options): ArtifactRef => {
        const ref = this.attachments.attach(bytes, options);
        this.artifacts.set(ref.uri, bytes);
        return ref;
      },
      live: () => undefined,
      ...more,
    };
  }

  /** Preflight and execution, as the house would do them. Throws the codes of a refused preflight. */
  async call(tool: Tool, input: unknown, more: Partial<ExecutionContext> = {}): Promise<ToolResult> {
    const judged = await this.preflight(tool, input);
    if (!judged.ok) throw new Error(judged.errors.map(({ code }) => code).join(','));
    const result = await tool.execute(judged.input, this.context(judged.baselines, more));
    for (const { path, sha256 } of result.reads ?? []) this.reads.push({ path, sha256 });
    return result;
  }

  /** Codes of a preflight; `ok` when it is accepted. */
  async codes(tool: Tool, input: unknown): Promise<string> {
    const judged = await this.preflight(tool, input);
    return judged.ok ? 'ok' : judged.errors.map(({ code }) => code).join(',');
  }

  /** The first message of a refused preflight. */
  async message(tool: Tool, input: unknown): Promise<string> {
    const judged = await this.preflight(tool, input);
    return judged.ok ? '' : (judged.errors[0]?.message ?? '');
  }

  diffs(): string[] {
    return this.attachments.all.map(({ bytes }) => Buffer.from(bytes).toString('utf8'));
  }
}

/** Text of one channel of a result. */
export function channel(result: ToolResult, name = 'content'): string {
  return result.output.find((part) => part.channel === name)?.text ?? '';
}

export const sha = (content: string | Uint8Array): string => sha256Hex(content);

/** A pipe with a name. */
export function makePipe(path: string): void {
  execFileSync('/usr/bin/env', ['mkfifo', path]);
}
