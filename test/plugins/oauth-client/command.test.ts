/** `patchbay connect SERVER` in a terminal: a person enters the code or opens the link that it prints. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Client, type Hub, LOOPBACK, startHub } from '../../support/hub.ts'
import { HUB_MAIN } from '../../support/hub-main.ts'
import { enterCode, GuardedServer, Issuer, signInAt } from '../../support/issuer.ts'
import { makeTemp, removeTemp } from '../../support/temp.ts'

let issuer: Issuer
let server: GuardedServer
let hub: Hub
let ada: Client
let cwd: string

beforeAll(async () => {
  cwd = await makeTemp('connect')
  issuer = await Issuer.start()
  server = await GuardedServer.start(issuer)
  hub = await startHub({ env: LOOPBACK })
  await hub.setup()
  ada = await hub.user('ada')
  await ada.ok('POST', '/api/servers', { name: 'by-code', url: server.url, oauth: { grant: 'device' } })
  await ada.ok('POST', '/api/servers', { name: 'by-link', url: server.url, oauth: {} })
}, 120_000)
afterAll(async () => {
  await hub?.stop()
  await server?.stop()
  await issuer?.stop()
  await removeTemp(cwd)
}, 120_000)

/** Starts the command, and gives its output up to now to `next` until that returns true. */
async function connect(name: string, next: (said: string, write: (text: string) => void) => Promise<boolean>) {
  const child = Bun.spawn([process.execPath, HUB_MAIN, 'connect', name], {
    ...{ cwd, stdin: 'pipe', stdout: 'pipe', stderr: 'pipe' },
    env: { PATH: process.env.PATH, HOME: cwd, PATCHBAY_URL: hub.url, PATCHBAY_TOKEN: ada.token },
  })
  let said = ''
  let isDone = false
  const decoder = new TextDecoder()
  for await (const chunk of child.stdout) {
    said += decoder.decode(chunk, { stream: true })
    if (!isDone)
      isDone = await next(said, text => {
        child.stdin.write(text)
        child.stdin.end()
      })
  }
  return { said, code: await child.exited, error: await new Response(child.stderr).text() }
}

test('prints a code, and ends when it was entered, or refused', async () => {
  const enter = (refuses: boolean) => async (said: string) => {
    const [, page, code] = /^Open (\S+) on any device and enter the code (\S+)$/m.exec(said) ?? []
    if (page === undefined || code === undefined) return false
    await enterCode(page, code, 'ada-there', refuses)
    return true
  }
  const refused = await connect('by-code', enter(true))
  expect([refused.code, refused.error]).toEqual([1, expect.stringContaining('sign_in_denied: ')])
  const { said, code, error } = await connect('by-code', enter(false))
  expect([code, error]).toEqual([0, ''])
  expect(said).toContain('It is valid for 10 minutes. Waiting …')
  expect(said.trimEnd().split('\n').at(-1)).toBe('signed in at ada~by-code')
}, 60_000)

test('prints a link, and takes the address at which the browser ended', async () => {
  const { said, code, error } = await connect('by-link', async (text, write) => {
    const link = /^Open (\S+)$/m.exec(text)?.[1]
    if (link === undefined) return false
    write(`${await signInAt(link, 'ada-there')}\n`)
    return true
  })
  expect([code, error]).toEqual([0, ''])
  expect(said).toContain('signed in at ada~by-link\n')
  const wrong = await connect('by-link', async (_, write) => {
    write('http://127.0.0.1/?state=wrong\n')
    return true
  })
  expect([wrong.code, wrong.error]).toEqual([1, expect.stringContaining('flow_unknown')])
}, 60_000)

test('names the other use of the command where there is no such server', async () => {
  const { code, error } = await connect('cursor', async () => true)
  expect([code, error]).toEqual([
    1,
    expect.stringMatching(/server_not_found[\s\S]+patchbay connect cursor --group <group>/),
  ])
})
