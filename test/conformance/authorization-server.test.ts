/** The official suite's scenarios of authorization servers, with a person who consents in the place of the browser. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { freePort } from '../support/free-port.ts'
import { type Hub, ROOT, startHub } from '../support/hub.ts'
import { consent, RawOAuth } from '../support/oauth.ts'

let hub: Hub

beforeAll(async () => {
  hub = await startHub()
}, 60_000)
afterAll(() => hub?.stop(), 60_000)

test('the scenarios of authorization servers pass', async () => {
  const admin = await hub.setup()
  const port = await freePort()
  const client = await new RawOAuth(hub.url, `http://127.0.0.1:${port}/callback`).register()
  const options = [
    '--url',
    hub.url,
    '--client-id',
    client.clientId,
    '--resource',
    `${hub.url}/mcp`,
    '--port',
    String(port),
  ]
  const program = join(ROOT, 'node_modules/.bin/conformance')
  const child = Bun.spawn([process.execPath, program, 'authorization', ...options], {
    ...{ stdout: 'pipe', stderr: 'pipe' },
  })
  let said = ''
  let isAsked = false
  for await (const chunk of child.stdout) {
    said += new TextDecoder().decode(chunk)
    const url = /^http\S+\/authorize\?\S+(?=\n)/m.exec(said)?.[0]
    if (url === undefined || isAsked || !said.includes('Callback server started')) continue
    isAsked = true
    const answer = await fetch(await consent(admin, url))
    await answer.body?.cancel()
  }
  const code = await child.exited
  expect([isAsked, code], `${said}\n${await new Response(child.stderr).text()}`).toEqual([true, 0])
  expect(said.match(/^✓ .+, 0 failed$/gm)).toHaveLength(2)
  expect(said).not.toMatch(/✗|FAILURE|WARNING/)
}, 60_000)
