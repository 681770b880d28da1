import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { makeTemp, removeTemp } from '../../support/temp.ts'
import type { RunningHub } from '../../unit/cli/running-hub.ts'

const PACKAGES = join(import.meta.dir, 'node_modules')
const LIMIT_MS = 120_000

/** A program of another maker that reads the file that `patchbay connect` writes for it. */
export interface ConnectedClient {
  /** As for `patchbay connect`. */
  readonly client: string
  /** Its program, below the folder of packages, with the arguments that list its servers. */
  readonly argv: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** True when its printed list has the group `work` at this address, with the key. */
  lists(printed: string, url: string): boolean
}

/** Small enough for the suite: it connects to each server that it lists. */
export const GEMINI: ConnectedClient = {
  client: 'gemini',
  argv: ['@google/gemini-cli/bundle/gemini.js', 'mcp', 'list'],
  // It uses no servers in folders without a recorded trust.
  env: { GEMINI_CLI_TRUST_WORKSPACE: 'true', NO_COLOR: '1' },
  lists: (printed, url) => printed.includes(`✓ work: ${url} (http) - Connected`),
}

/** 400 MB, for `bun run compatibility` alone. It shows the header with the key. */
const CODEX: ConnectedClient = {
  client: 'codex',
  argv: ['@openai/codex/bin/codex.js', 'mcp', 'list', '--json'],
  env: {},
  lists(printed, url) {
    const [server] = JSON.parse(printed)
    const { type, url: address, http_headers: headers } = server.transport
    const isWhole = /^Bearer pb_\S+$/.test(headers.Authorization) && server.auth_status === 'bearer_token'
    return server.name === 'work' && type === 'streamable_http' && address === url && isWhole
  },
}

/** All that are tried. */
export const CONNECTED: readonly ConnectedClient[] = [GEMINI, CODEX]

/** Writes the client's file with `patchbay connect` in a new home, and returns the output of the real program about it. */
export async function readBack(
  { client, argv, env, lists }: ConnectedClient,
  hub: RunningHub,
): Promise<{ readonly listed: boolean; readonly printed: string }> {
  const home = await makeTemp('connected')
  try {
    await mkdir(join(home, 'project'))
    const written = await hub.run(['connect', client, '--group', 'work'], { env: { HOME: home } })
    if (written.code !== 0) throw new Error(`patchbay connect ${client} failed: ${written.stderr}`)
    const [program = '', ...args] = argv
    const child = Bun.spawn(['node', join(PACKAGES, program), ...args], {
      cwd: join(home, 'project'),
      env: { PATH: process.env.PATH ?? '', HOME: home, ...env },
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
      timeout: LIMIT_MS,
    })
    const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
    await child.exited
    // Gemini writes its list to either, depending on where it runs.
    const printed = `${stdout}${client === 'codex' ? '' : stderr}`
    return { listed: lists(printed, `${hub.url}/mcp/work`), printed }
  } finally {
    await removeTemp(home)
  }
}
