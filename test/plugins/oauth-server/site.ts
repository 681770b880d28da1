import { type Client, type Hub, startHub, stdioFixture } from '../../support/hub.ts'
import { RawOAuth } from '../../support/oauth.ts'
import { online } from '../../support/servers.ts'

/** A hub at which a client that has registered itself may sign in, and the people whom it may ask. */
export interface Site {
  hub: Hub
  readonly admin: Client
  /** Owns the groups `a` and `b`. */
  readonly ada: Client
  readonly eve: Client
  readonly app: RawOAuth
}

export async function startSite(): Promise<Site> {
  const hub = await startHub()
  const admin = await hub.setup()
  const [ada, eve] = [await hub.user('ada'), await hub.user('eve')]
  await admin.ok('POST', '/api/servers', { name: 'echo', visibility: 'public', ...stdioFixture('echo') })
  await online(admin, ['echo'])
  for (const name of ['a', 'b']) await ada.ok('POST', '/api/groups', { name, members: [{ server: 'admin~echo' }] })
  return { hub, admin, ada, eve, app: await new RawOAuth(hub.url).register() }
}

/** Sends one message to a path under `/mcp`, with a token. */
export function sendMcp(
  hub: Hub,
  path: string,
  token: string | undefined,
  message: object = { method: 'tools/list' },
): Promise<Response> {
  return fetch(hub.url + path, {
    method: 'POST',
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...{ 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      ...{ 'mcp-protocol-version': '2025-11-25' },
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }),
  })
}

export const INITIALIZE = {
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
}
