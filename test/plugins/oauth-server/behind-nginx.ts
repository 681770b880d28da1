/** A hub below a path behind a real nginx, with what clients find there. */

import { Client as ApiClient } from '../../support/client.ts'
import { freePort } from '../../support/free-port.ts'
import { type Client, type Hub, startHub, stdioFixture } from '../../support/hub.ts'
import { startNginxWith } from '../../support/nginx.ts'
import { online } from '../../support/servers.ts'
import { makeTemp } from '../../support/temp.ts'

/** The hub, and `ada`, who owns the servers `one` and `two` and the group `work` of the first. */
export interface Place extends AsyncDisposable {
  readonly hub: Hub
  /** The address that clients are given, without a slash at its end. */
  readonly url: string
  readonly ada: Client
}

/** `basePath`: such as `/hub`, or empty. `nginx`: it passes that path on and nothing else. */
export async function startPlace(basePath: string, nginx: boolean): Promise<Place> {
  const port = nginx ? await freePort() : 0
  const origin = `http://127.0.0.1:${port}`
  const env = {
    ...(basePath === '' ? {} : { BASE_PATH: basePath }),
    ...(nginx ? { PUBLIC_URL: origin, TRUST_PROXY: 'loopback' } : {}),
  }
  const hub = await startHub({ env })
  const admin = await hub.setup()
  const proxy = nginx ? await proxyBefore(hub, port, basePath) : undefined
  const url = nginx ? origin + basePath : hub.url
  const ada = new ApiClient(hub.url, 'admin', admin.token)
  for (const name of ['one', 'two']) await admin.ok('POST', '/api/servers', { name, ...stdioFixture('echo') })
  await online(admin, ['one', 'two'])
  await admin.ok('POST', '/api/groups', { name: 'work', members: [{ server: 'one' }] })
  return {
    ...{ hub, url, ada },
    async [Symbol.asyncDispose]() {
      await proxy?.[Symbol.asyncDispose]()
      await hub.stop()
    },
  }
}

async function proxyBefore(hub: Hub, port: number, basePath: string) {
  const target = new URL(hub.url).origin
  const headers = [
    'proxy_set_header Host $http_host;',
    'proxy_set_header X-Forwarded-For $remote_addr;',
    'proxy_set_header X-Forwarded-Proto $scheme;',
    'proxy_buffering off;',
  ]
  const location = `location ${basePath}/ { proxy_pass ${target}; proxy_http_version 1.1; ${headers.join(' ')} }`
  const http = `access_log off; server { listen 127.0.0.1:${port}; server_name _; ${location} }`
  return startNginxWith(http, await makeTemp('nginx'), `http://127.0.0.1:${port}`)
}
