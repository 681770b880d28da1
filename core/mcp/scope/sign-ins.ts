import { createHash } from 'node:crypto'
import type { Upstreams } from '../../connections/api.ts'
import type { ServerRecord } from '../../contract/records.ts'
import { asksCallers } from '../../domain/session-scope.ts'
import { catalogItem } from '../../domain/tools/catalog-item.ts'
import { ListItem } from './list-item.ts'
import { legalName } from './naming.ts'
import type { MemberState, ResolvedScope, ScopeMember } from './scope-types.ts'

/** Longest exposed name of a tool. */
const MAX_NAME = 64
const NO_CHANGES = Object.freeze({})

/** A tool of the hub that stands for the tools of a member at which the caller must sign in first. */
interface SignIn {
  readonly server: string
  /** The page at which the caller signs in. */
  readonly url: string
}

/** The tools of one scope by which its caller signs in. */
export interface SignInTools {
  readonly byName: ReadonlyMap<string, SignIn>
  readonly items: readonly ListItem[]
}

/**
 * The pages at which a user must sign in before some of these members are of use, by server id. Servers whose standing cannot be
 * read count as usable: a call then says what is wrong.
 */
export async function signInPages(
  { credentials }: Pick<Upstreams, 'credentials'>,
  userId: string,
  members: readonly ScopeMember[],
): Promise<ReadonlyMap<string, string>> {
  const pages = new Map<string, string>()
  const asking = members.filter(({ server }) => server.enabled && asksCallers(server))
  await Promise.all(
    asking.map(async ({ server: { id } }) => {
      const standing = await credentials.standing(id, userId).catch(() => undefined)
      if (standing?.connectUrl !== undefined && standing.state !== 'active') pages.set(id, standing.connectUrl)
    }),
  )
  return pages
}

/**
 * The page at which the caller must sign in at this server; undefined: the caller need not. The owner signs in where the server is
 * offline for that reason; others sign in only at servers that take a credential of each caller.
 */
export function pageFor(
  { signIns }: ResolvedScope,
  userId: string,
  server: ServerRecord,
  status: () => ReturnType<Upstreams['status']>,
): string | undefined {
  if (!server.enabled) return undefined
  const page = signIns?.get(server.id)
  const mayBeAsked = userId === server.ownerId && typeof server.config.url === 'string'
  if (page !== undefined || !mayBeAsked) return page
  const { state, reason } = status()
  const url = state === 'offline' ? reason?.data?.connectUrl : undefined
  return typeof url === 'string' ? url : undefined
}

/** The tools for the members at which the caller must sign in, with names that `taken` does not have. */
export function signInTools(states: readonly MemberState[], taken: (name: string) => boolean): SignInTools {
  const byName = new Map<string, SignIn>()
  const items: ListItem[] = []
  for (const { member, signInAt: url } of states) {
    // A member of which no tool is selected has none that this one could stand for.
    if (url === undefined || (member.tools !== 'all' && member.tools.length === 0)) continue
    const { server, alias } = member
    const name = freeName(alias, server.id, each => taken(each) || byName.has(each))
    byName.set(name, { server: server.name, url })
    items.push(new ListItem(name, server.id, itemOf(name, server.name), NO_CHANGES))
  }
  return { byName, items }
}

/** The answer of such a tool. */
export function signInAnswer({ server, url }: SignIn): string {
  const text = `The person must sign in at "${server}" first. Ask them to open ${url} in a browser; once they have signed in there, the tools of "${server}" are in the list of tools.`
  return JSON.stringify({ content: [{ type: 'text', text }] })
}

function itemOf(name: string, server: string) {
  return catalogItem('tools', {
    name,
    description: `Answers a link at which the person signs in at "${server}". The tools of "${server}" are listed once that is done.`,
    inputSchema: { type: 'object', properties: {} },
    annotations: { title: `Sign in at ${server}`, readOnlyHint: true },
  })
}

/** The names of other tools stay as they are, so this one gives way. */
function freeName(alias: string, serverId: string, taken: (name: string) => boolean): string {
  const usual = legalName(`${alias}_sign_in`, serverId, 'tools')
  for (let round = 0, name = usual; ; round += 1) {
    if (!taken(name)) return name
    const digest = createHash('sha256').update(`${serverId} ${round}`).digest('hex').slice(0, 6)
    name = `${usual.slice(0, MAX_NAME - 7)}_${digest}`
  }
}
