/**
 * `deploy/systemd/patchbay.service` as it is, under systemd as process 1 of a Debian root with namespaces of its own, after the steps that its
 * head names. In `bun run soak`, as it takes packages and needs root.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { chmod, copyFile, cp, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Client } from '../support/client.ts'
import { copyAll, debian, runIn } from '../support/debian-root.ts'
import { extent } from '../support/extent.ts'
import { freePort } from '../support/free-port.ts'
import { PASSWORD, ROOT, send } from '../support/hub.ts'
import { callText, online } from '../support/servers.ts'
import { shutIn } from '../support/shut-in.ts'
import { bootMachine, type Machine } from '../support/systemd.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'
import { until } from '../support/wait.ts'
import { consoleOf } from './smoke.ts'

const UNIT = 'patchbay.service'
const CHECKOUT = ['package.json', 'bun.lock', 'bunfig.toml', 'mcp_settings.json', 'core', 'plugins', 'ui']

describe.each(extent([], ['as process 1']))('systemd %s', () => {
  let folder: string
  let machine: Machine
  let url: string
  let admin: Client

  beforeAll(async () => {
    folder = await makeTemp('systemd')
    const root = join(folder, 'root')
    await copyAll(await debian(), root)
    runIn(
      root,
      'apt-get update -q && apt-get install -y -q --no-install-recommends systemd systemd-sysv dbus bubblewrap',
    )
    await copyFile(process.execPath, join(root, 'usr/local/bin/bun'))
    await chmod(join(root, 'usr/local/bin/bun'), 0o755)
    for (const path of CHECKOUT) await cp(join(ROOT, path), join(root, 'opt/patchbay', path), { recursive: true })
    runIn(root, 'cd /opt/patchbay && bun install --frozen-lockfile --production --ignore-scripts')
    await cp(join(ROOT, 'node_modules/better-sqlite3'), join(root, 'opt/patchbay/node_modules/better-sqlite3'), {
      recursive: true,
      dereference: true,
    })
    await mkdir(join(root, 'etc/systemd/system/multi-user.target.wants'), { recursive: true })
    await copyFile(join(ROOT, 'deploy/systemd', UNIT), join(root, 'etc/systemd/system', UNIT))
    const port = await freePort()
    await writeFile(join(root, 'etc/patchbay.env'), `PORT=${port}\n`, { mode: 0o600 })
    url = `http://127.0.0.1:${port}`
    machine = await bootMachine(root)
  }, 900_000)
  afterAll(async () => {
    await machine?.[Symbol.asyncDispose]()
    await removeTemp(folder)
  }, 600_000)

  const systemctl = (...words: string[]) => machine.run('systemctl', ...words)
  const journal = () => machine.run('journalctl', '-u', UNIT, '-o', 'cat', '--no-pager').output
  const property = (name: string) => systemctl('show', UNIT, '--property', name, '--value').output.trim()
  const processes = () => machine.run('sh', '-c', 'cat /proc/[0-9]*/cmdline').output.replaceAll('\0', ' ')
  const answers = async () => (await fetch(`${url}/health`).catch(() => undefined))?.status === 200
  const state = async () => (await admin.ok('GET', '/api/servers/shut')).status.state

  test('starts with the machine’s hardening: console, set-up token in the journal, a server of a user in the sandbox', async () => {
    expect(systemctl('enable', '--now', UNIT).code).toBe(0)
    await until(answers, { timeoutMs: 60_000, what: 'the hub' })
    expect((await (await fetch(`${url}/health`)).json()).checks).toMatchObject({ sandbox: 'full' })
    await consoleOf(url)
    const token = await until(() => /setup token: (\S+)/.exec(journal())?.[1])
    const made = await send(url, 'POST', '/api/setup', { token, username: 'admin', password: PASSWORD })
    admin = new Client(url, 'admin', made.json.token)
    await admin.ok('POST', '/api/admin/users', { username: 'ann', password: PASSWORD, role: 'user' })
    const signedIn = await send(url, 'POST', '/api/auth/login', { username: 'ann', password: PASSWORD })
    const ann = new Client(url, 'ann', signedIn.json.token)
    await ann.ok('POST', '/api/servers', await shutIn('shut'))
    await online(ann, ['shut'], 60_000)
    const client = await ann.mcp('/mcp/shut')
    const self = JSON.parse(await callText(client, 'self', {}))
    expect(self).toMatchObject({ capabilities: expect.stringMatching(/^0+$/), noNewPrivileges: '1' })
    await client.close()
    await ann.close()
  }, 300_000)

  test('reload opens the log again without a restart', async () => {
    const before = property('MainPID')
    expect(systemctl('reload', UNIT).code).toBe(0)
    expect([await answers(), property('MainPID')]).toEqual([true, before])
  })

  test('a hub that is killed comes back, with its servers and without what was left of the old ones', async () => {
    const before = property('MainPID')
    expect(systemctl('kill', '--kill-whom=main', '--signal=KILL', UNIT).code).toBe(0)
    await until(async () => property('MainPID') !== before && (await answers()), { timeoutMs: 60_000 })
    await until(async () => (await state()) === 'online', { timeoutMs: 60_000 })
    expect(property('NRestarts')).toBe('1')
  }, 120_000)

  test('stop lets a call end, ends the servers, and leaves no process', async () => {
    const address = await shutIn('slow')
    await admin.ok('POST', '/api/servers', { ...address, name: 'slow' })
    await online(admin, ['slow'], 60_000)
    const client = await admin.mcp('/mcp/slow')
    const command = ['/bin/sh', '-c', 'sleep 3; echo done']
    const call = callText(client, 'run', { command })
    await until(() => processes().includes('sleep 3;'), { what: 'the call to be at work' })
    systemctl('stop', '--no-block', UNIT)
    expect(await call).toContain('done')
    await until(() => property('ActiveState') === 'inactive', { timeoutMs: 60_000, what: 'the unit to be inactive' })
    expect([property('Result'), property('ExecMainStatus'), property('MainPID')]).toEqual(['success', '0', '0'])
    expect(processes()).not.toContain('/opt/patchbay')
    expect(processes()).not.toContain('bwrap')
    await client.close()
  }, 120_000)

  test('a wrong setting is not started again', async () => {
    machine.run('sh', '-c', 'echo PORT=many > /etc/patchbay.env')
    systemctl('start', UNIT)
    await until(() => property('ActiveState') === 'failed', { timeoutMs: 60_000, what: 'the unit to have failed' })
    expect([property('ExecMainStatus'), property('NRestarts')]).toEqual(['2', '0'])
    expect(journal()).toContain('error: env_invalid: PORT is "many"')
  }, 120_000)
})
