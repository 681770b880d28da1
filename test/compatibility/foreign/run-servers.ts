import { join } from 'node:path'
import { type Client, type Hub, startHub } from '../../support/hub.ts'
import { type Program, startProgram } from '../../support/program.ts'
import { online, statusOf } from '../../support/servers.ts'
import { makeTemp, removeTemp } from '../../support/temp.ts'
import { until } from '../../support/wait.ts'
import { newerPeer, olderPeer, type Peer } from '../peers.ts'
import { ERAS, type Era, type ForeignServer, type Outside, program, type Session, trialsOf } from './servers.ts'

/** Findings of a client of one era: how much it sees, and for each trial `works` or the error. */
export interface ServerSeen {
  readonly counts: Readonly<Record<'tools' | 'prompts' | 'resources', number>>
  readonly trials: readonly (readonly [label: string, outcome: string])[]
}

export interface ServerFound {
  readonly server: ForeignServer
  readonly session: Session
  readonly era: Era
  readonly seen: ServerSeen
}

interface ServerWorld {
  readonly hub: Hub
  readonly admin: Client
  readonly outside: Outside
  stop(): Promise<void>
}

const idOf = ({ id }: ForeignServer, session: Session): string => `${id}-${session}`

/** A hub with these servers, one entry for each session mode that is tried. */
export async function startServerWorld(servers: readonly ForeignServer[]): Promise<ServerWorld> {
  const web = startWeb()
  const [root, given] = await Promise.all([makeTemp('root'), makeTemp('given')])
  const outside = { url: `http://127.0.0.1:${web.port}`, root, given }
  const programs: Program[] = []
  let hub: Hub | undefined
  const stop = async (): Promise<void> => {
    await hub?.stop()
    await Promise.all(programs.map(one => one.stop()))
    await web.stop(true)
    await Promise.all([removeTemp(root), removeTemp(given)])
  }
  try {
    const mcpServers: Record<string, object> = {}
    const add = async (server: ForeignServer): Promise<void> => {
      const [name, ...args] = server.listens ?? []
      const listening = name === undefined ? undefined : await startProgram(program(name), { args })
      if (listening) programs.push(listening)
      const entry = server.entry(outside, listening?.url ?? '')
      for (const session of server.sessions)
        mcpServers[idOf(server, session)] = { ...entry, ...(server.how === 'OpenAPI' ? {} : { session }) }
    }
    await Promise.all(servers.map(add))
    hub = await startHub({ settings: { mcpServers } })
    const admin = await hub.setup()
    await online(admin, Object.keys(mcpServers), 60_000)
    return { hub, admin, outside, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** A replacement for the web: a page, an answer of Notion's, the document of GitHub and an answer of its API. */
function startWeb() {
  const document = join(import.meta.dir, 'node_modules/@octokit/openapi/generated/api.github.com.json')
  return Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    routes: {
      '/page': new Response('<title>A page of the tests</title>', { headers: { 'content-type': 'text/html' } }),
      '/v1/users/me': Response.json({ object: 'user', name: 'the bot of the tests' }),
      '/meta': Response.json({ verifiable_password_authentication: false }),
      '/api.github.com.json': () => new Response(Bun.file(document)),
    },
    fetch: () => new Response('Not found', { status: 404 }),
  })
}

/** One server in every session mode, by clients of both eras that can answer whatever it asks. */
export async function runServer(world: ServerWorld, server: ForeignServer): Promise<readonly ServerFound[]> {
  const found: ServerFound[] = []
  for (const session of server.sessions)
    for (const era of ERAS) {
      const seen = await seenBy(world, { server, session, era })
      // Some programs give up after a second of their own, which a busy machine may take. The second client counts whole.
      const works = seen.trials.every(([, outcome]) => outcome === 'works')
      found.push({ server, session, era, seen: works ? seen : await seenBy(world, { server, session, era }) })
    }
  return found
}

/** Findings of a new client. */
async function seenBy(world: ServerWorld, tried: Omit<ServerFound, 'seen'>): Promise<ServerSeen> {
  const { server, session, era } = tried
  const options = { name: 'ann', path: `/mcp/${idOf(server, session)}`, asked: true, root: world.outside.root }
  const peer = await (era === '2025-11-25'
    ? olderPeer(world.admin, false, options)
    : newerPeer(world.admin, era, options))
  try {
    return await look(world, tried, peer)
  } finally {
    await peer.close()
  }
}

async function look(
  { admin, outside }: ServerWorld,
  { server, session, era }: Omit<ServerFound, 'seen'>,
  peer: Peer,
): Promise<ServerSeen> {
  const has = (await statusOf(admin, idOf(server, session))).counts
  // A client is not asked for what its server does not have.
  const count = async (kind: 'tools' | 'prompts' | 'resources') =>
    has[kind] === 0 ? 0 : (await peer.names(kind)).length
  const counts = { tools: await count('tools'), prompts: await count('prompts'), resources: await count('resources') }
  const trials: (readonly [string, string])[] = []
  for (const { label, tool, args = () => ({}), answer } of trialsOf(server, session, era)) {
    let said = ''
    // A server may learn its client's roots a moment after its first answer.
    const right = async (): Promise<boolean> => {
      said = JSON.stringify((await peer.call(tool, args(outside) as Record<string, string>)).content)
      return said.includes(answer(outside))
    }
    const outcome = await until(right, { what: label, timeoutMs: 10_000, intervalMs: 100 }).then(
      () => 'works',
      (error: Error) => `${error.message}; last answer: ${said}`,
    )
    trials.push([label, outcome])
  }
  return { counts, trials }
}
