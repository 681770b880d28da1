import { join } from 'node:path'
import { fixture } from '../../support/fixtures.ts'
import { type Client, type Hub, startHub, stdioFixture } from '../../support/hub.ts'
import { type Program, startProgram } from '../../support/program.ts'
import { online } from '../../support/servers.ts'
import { makeTemp, removeTemp } from '../../support/temp.ts'
import type { Feature, ForeignClient, PlaceName } from './clients.ts'

const PROGRAMS = join(import.meta.dir, 'programs')
/** Many processes on a machine that does other things as well. */
const LONGEST_MS = 5 * 60_000

/** `works`, `not offered`, or what went wrong. */
export type Outcomes = Readonly<Partial<Record<Feature, string>>>

export interface ClientFound {
  readonly client: ForeignClient
  readonly places: Readonly<Record<PlaceName, Outcomes>>
  readonly speaks: string
  /** The error that its user sees with a wrong key, without parts that differ between runs. */
  readonly refused: string
}

export interface ClientWorld {
  readonly hub: Hub
  readonly admin: Client
  readonly home: string
  stop(): Promise<void>
}

/** One shared server of the older era, one with a process for each session, one of the newer era, and a group. */
export async function startClientWorld(): Promise<ClientWorld> {
  let program: Program | undefined
  let hub: Hub | undefined
  const home = await makeTemp('foreign')
  const stop = async (): Promise<void> => {
    await hub?.stop()
    await program?.stop()
    await removeTemp(home)
  }
  try {
    program = await startProgram(fixture('every-wire'), { env: { NAME: 'newer', WIRE: 'http', ERA: 'modern' } })
    const older = (name: string) => stdioFixture('every-wire', { NAME: name, ERA: 'legacy' })
    const mcpServers = {
      shared: { ...older('shared'), session: 'shared' },
      own: { ...older('own'), session: 'per-session' },
      newer: { url: program.url },
    }
    hub = await startHub({ settings: { mcpServers, groups: [{ name: 'group', servers: ['shared', 'newer'] }] } })
    const admin = await hub.setup()
    await online(admin, Object.keys(mcpServers), 60_000)
    return { hub, admin, home, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** The addresses of each place for a client of this wire, and the forms of names there. */
function placesOf(wire: ForeignClient['wire']): Readonly<Record<PlaceName, object>> {
  const alone = (path: PlaceName) => ({ path: `/${wire}/${path}`, prefix: '', echoes: ['echo'] })
  return {
    group: { path: `/${wire}/group`, prefix: 'newer_', echoes: ['shared_echo', 'newer_echo'] },
    newer: alone('newer'),
    own: alone('own'),
    shared: alone('shared'),
  }
}

/** Runs the program of a client against every place. Throws when it says nothing. */
export async function runClient({ hub, admin, home }: ClientWorld, client: ForeignClient): Promise<ClientFound> {
  const key = await admin.mcpKey()
  const wrongKey = `${key.slice(0, -4)}${key.endsWith('aaaa') ? 'bbbb' : 'aaaa'}`
  const told = JSON.stringify({ url: hub.url, key, wrongKey, places: placesOf(client.wire) })
  const child = Bun.spawn([process.execPath, join(PROGRAMS, `${client.program}.mjs`), told, ...client.args], {
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    timeout: LONGEST_MS,
    killSignal: 'SIGKILL',
    // Some keep what they learn of a server in the home folder; the inspector asks for a sign-in only where it may open a browser.
    env: {
      PATH: process.env.PATH ?? '',
      HOME: home,
      MCP_AUTO_OPEN_ENABLED: 'true',
      MCP_INSPECTOR_SECRET_STORE: 'memory',
    },
  })
  const [out, error] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  const line = /^found (.*)$/m.exec(out)?.[1]
  if (line === undefined) throw new Error(`${client.name} found nothing:\n${out}\n${error}`)
  const { places, speaks, refused } = JSON.parse(line) as Omit<ClientFound, 'client'>
  const checked = Object.fromEntries(Object.entries(places).map(([place, outcomes]) => [place, check(outcomes)]))
  return { client, places: checked as ClientFound['places'], speaks, refused: settle(refused, hub.url) }
}

/** The error of a server when its client does not declare a capability. */
const NOT_OFFERED = /did not declare the required capability/

function check(outcomes: Outcomes): Outcomes {
  const short = (text: string): string => (NOT_OFFERED.test(text) ? 'not offered' : text)
  return Object.fromEntries(Object.entries(outcomes).map(([feature, text]) => [feature, short(text)]))
}

/** Removes the address and the id of the request. */
function settle(message: string, url: string): string {
  return message
    .replaceAll(url, 'http://hub')
    .replace(/(requestId\\*":\\*")[\w-]+/g, '$1…')
    .replaceAll(/\s+/g, ' ')
}
