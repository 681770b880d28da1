import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runCommand } from '../../../core/cli/run.ts'
import { Redactor } from '../../../core/secrets/redact.ts'
import { ServerRedactors } from '../../../core/secrets/server-redactors.ts'
import { BUN_CACHE } from '../../support/hub.ts'
import { HUB_MAIN } from '../../support/hub-main.ts'

export interface Finished {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

export interface CommandOptions {
  readonly cwd: string
  readonly env?: Readonly<Record<string, string>>
  readonly stdin?: string
}

/** Runs one command of the CLI in this process; of the process's environment, it gets PATH only. */
export async function patchbay(
  argv: readonly string[],
  { cwd, env = {}, stdin = '' }: CommandOptions,
): Promise<Finished> {
  let stdout = ''
  let stderr = ''
  const code = await runCommand(argv, {
    stdin: async () => stdin,
    stdout: text => {
      stdout += text
    },
    stderr: text => {
      stderr += text
    },
    redactor: new Redactor(),
    servers: new ServerRedactors(),
    env: { PATH: process.env.PATH, ...env },
    cwd,
  })
  return { code, stdout, stderr }
}

export interface RunningHub extends AsyncDisposable {
  readonly cwd: string
  readonly url: string
  /** Runs a command on the hub's own machine, as the hub's own user. */
  run(argv: readonly string[], options?: Partial<CommandOptions>): Promise<Finished>
}

/** A whole hub as a process of its own in a new folder, with the administrator `ada`. */
export async function runningHub(settings?: string): Promise<RunningHub> {
  const cwd = await mkdtemp(join(tmpdir(), 'patchbay-cli-'))
  if (settings !== undefined) await writeFile(join(cwd, 'mcp_settings.json'), settings, { mode: 0o600 })
  const hub = Bun.spawn([process.execPath, HUB_MAIN], {
    cwd,
    env: {
      ...BUN_CACHE,
      PATH: process.env.PATH,
      PORT: '0',
      ADMIN_USERNAME: 'ada',
      ADMIN_PASSWORD: 'a long sentence of hers',
    },
    stdout: 'ignore',
    stderr: 'pipe',
  })
  const url = await listeningAt(hub.stderr)
  return {
    cwd,
    url,
    run: (argv, options) => patchbay(argv, { cwd, ...options }),
    async [Symbol.asyncDispose]() {
      hub.kill('SIGTERM')
      await hub.exited
      await rm(cwd, { recursive: true, force: true })
    },
  }
}

async function listeningAt(stream: ReadableStream<Uint8Array>): Promise<string> {
  let told = ''
  const decoder = new TextDecoder()
  for await (const chunk of stream) {
    told += decoder.decode(chunk, { stream: true })
    const url = /listening on (http\S+)/.exec(told)?.[1]
    if (url !== undefined) return url
  }
  throw new Error(`The hub ended before it listened: ${told}`)
}
