/**
 * The client under test of the suite's client leg: a hub whose only upstream is the suite's server, and in front of it a peer
 * of the official package that uses everything the server offers. The suite sees the hub only; the peer makes it send
 * requests.
 * Usage: `bun client.ts URL`, which loads this; the suite appends the URL and sets MCP_CONFORMANCE_SCENARIO,
 * _PROTOCOL_VERSION, _CONTEXT.
 */
import { join } from 'node:path'
import { Client as Peer, StreamableHTTPClientTransport, type Tool } from '@modelcontextprotocol/client'
import type { Client } from '../support/client.ts'
import { startHub } from '../support/hub.ts'
import { online } from '../support/servers.ts'
import { argumentsFor } from './arguments.ts'
import { asksForSignIn, settled, signIn, wantsSignIn } from './browser.ts'

/** Several scenarios run at once, each with a hub of its own. */
const START_MS = 60_000
const MODERN = '2026-07-28'
/** The document that the suite expects as client id, where its issuer reads such. */
const CLIENT_DOCUMENT = 'https://conformance-test.local/client-metadata.json'
const SERVER = 'suite'
/** The issuer of the workload's identity; the suite checks its signature alone. */
const WORKLOADS = 'https://idp.conformance-test.local'
/** A plugin that has the identity of each user at one provider. */
const IDENTITIES = join(import.meta.dir, 'fixtures/identities.ts')
/** Most sign-ins of one scenario; the hub ends it before. */
const MOST_SIGN_INS = 6

interface ToolCall {
  readonly name: string
  readonly arguments: Record<string, unknown>
}

/** The calls and arguments that the scenario wants, and the client that it knows, if that matters to it. */
interface Context {
  readonly toolCalls?: readonly ToolCall[]
  readonly client_id?: string
  readonly client_secret?: string
  readonly private_key_pem?: string
  readonly idp_issuer?: string
  readonly idp_client_id?: string
  readonly idp_id_token?: string
  readonly valid_jwt?: string
}

function peerOf(version: string): Peer {
  const peer = new Peer(
    { name: 'conformance-peer', version: '1.0.0' },
    {
      capabilities: { elicitation: { form: { applyDefaults: true } }, sampling: {}, roots: {} },
      ...(version === MODERN ? { versionNegotiation: { mode: { pin: MODERN } } } : {}),
    },
  )
  peer.setRequestHandler('elicitation/create', () => ({ action: 'accept' as const, content: {} }))
  peer.setRequestHandler('sampling/createMessage', () => ({
    model: 'none',
    role: 'assistant' as const,
    content: { type: 'text' as const, text: 'sampled' },
  }))
  peer.setRequestHandler('roots/list', () => ({ roots: [] }))
  return peer
}

/** Does what a client under test does, and signs in where the hub asks for it. */
class Session {
  readonly #admin: Client
  readonly #peer: Peer
  #signIns = 0

  constructor(admin: Client, peer: Peer) {
    this.#admin = admin
    this.#peer = peer
  }

  /** Signs in until the server is online or the hub offers no more. True: it is online. */
  async reach(): Promise<boolean> {
    for (;;) {
      const status = await settled(this.#admin, SERVER, START_MS)
      if (status.state === 'online') return true
      console.log(`offline: ${JSON.stringify(status.reason)}`)
      if (!wantsSignIn(status) || !(await this.signIn())) return false
    }
  }

  /** Lists, calls, reads and gets everything. Errors of a server are printed and do not end the run: the suite decides. */
  async useAll(wanted: readonly ToolCall[]): Promise<void> {
    const peer = this.#peer
    const offered = peer.getServerCapabilities() ?? {}
    if (offered.tools) {
      const tools = (await this.#told('tools', () => peer.listTools()))?.tools ?? []
      for (const call of callsOf(tools, wanted)) await this.#told(call.name, () => peer.callTool(call))
    }
    if (offered.resources) {
      const resources = (await this.#told('resources', () => peer.listResources()))?.resources ?? []
      for (const { uri } of resources) await this.#told(uri, () => peer.readResource({ uri }))
    }
    if (offered.prompts) {
      const prompts = (await this.#told('prompts', () => peer.listPrompts()))?.prompts ?? []
      for (const { name } of prompts) await this.#told(name, () => peer.getPrompt({ name }))
    }
  }

  async signIn(): Promise<boolean> {
    this.#signIns += 1
    if (this.#signIns > MOST_SIGN_INS) return false
    return signIn(this.#admin, SERVER)
  }

  async #told<T>(what: string, work: () => Promise<T>): Promise<T | undefined> {
    for (;;) {
      try {
        const result = await work()
        console.log(`${what}: ${JSON.stringify(result)}`)
        return result
      } catch (error) {
        console.log(`${what} was refused: ${error}`)
        if (!asksForSignIn(error) || !(await this.signIn())) return undefined
      }
    }
  }
}

function callsOf(tools: readonly Tool[], wanted: readonly ToolCall[]): readonly ToolCall[] {
  return tools.flatMap(tool => {
    const own = wanted.filter(({ name }) => name === tool.name)
    return own.length > 0 ? own : [{ name: tool.name, arguments: argumentsFor(tool, tools) }]
  })
}

/** The client that the scenario knows, as the `oauth` of the server; empty where it knows none. */
function oauthOf({ client_id, client_secret, private_key_pem, idp_issuer, idp_client_id, valid_jwt }: Context): object {
  if (client_id === undefined) return {}
  const isClient = process.env.MCP_CONFORMANCE_SCENARIO?.startsWith('auth/client-credentials') === true
  return {
    oauth: {
      clientId: client_id,
      ...(client_secret === undefined ? {} : { clientSecret: client_secret }),
      ...(private_key_pem === undefined ? {} : { key: private_key_pem }),
      ...(isClient ? { grant: 'client_credentials' } : {}),
      ...(idp_issuer === undefined
        ? {}
        : { grant: 'id_jag', identity: { issuer: idp_issuer, clientId: idp_client_id } }),
      ...(valid_jwt === undefined ? {} : { grant: 'jwt_bearer', identity: { issuer: WORKLOADS } }),
    },
  }
}

/** The plugin that has the identity of the scenario, if there is one. */
function identitiesOf({ idp_issuer, idp_id_token, valid_jwt }: Context): readonly object[] {
  const token = idp_id_token ?? valid_jwt
  if (token === undefined) return []
  return [{ use: IDENTITIES, isolate: false, config: { issuer: idp_issuer ?? WORKLOADS, token } }]
}

async function main(): Promise<void> {
  const url = process.argv.at(-1) ?? ''
  const version = process.env.MCP_CONFORMANCE_PROTOCOL_VERSION ?? ''
  const context: Context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}')
  const hub = await startHub({
    settings: {
      plugins: [{ use: 'oauth-client', config: { clientMetadataUrl: CLIENT_DOCUMENT } }, ...identitiesOf(context)],
      mcpServers: { [SERVER]: { type: 'streamable-http', url, ...oauthOf(context) } },
    },
    timeoutMs: START_MS,
  })
  try {
    const admin = await hub.setup()
    const peer = peerOf(version)
    const session = new Session(admin, peer)
    if (!(await session.reach())) return
    await online(admin, [SERVER], START_MS)
    const authorization = `Bearer ${await admin.mcpKey()}`
    await peer.connect(
      new StreamableHTTPClientTransport(new URL(`/mcp/${SERVER}`, hub.url), {
        requestInit: { headers: { authorization } },
      }),
    )
    await session.useAll(context.toolCalls ?? [])
    await peer.close()
  } finally {
    await hub.stop()
  }
}

await main()
