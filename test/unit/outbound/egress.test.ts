import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { LIMITS } from '../../../core/config/limits.ts'
import { ExitShare } from '../../../core/connections/sandbox/exit-share.ts'
import { type EgressOptions, openEgress } from '../../../core/outbound/egress.ts'
import { bytesInFlight } from '../../support/bytes.ts'
import { makeTemp, removeTemp } from '../../support/temp.ts'
import { until } from '../../support/wait.ts'

const MOST = 64
const REQUEST = 'CONNECT 127.0.0.1:80 HTTP/1.1\\r\\n\\r\\n'

/** Perl is used, since it closes no end of a connection by itself: `dial` connects and sends something. */
const DIAL = `use Socket; $| = 1; my @held;
sub dial { socket(my $s, AF_UNIX, SOCK_STREAM, 0); connect($s, pack_sockaddr_un($ARGV[0])) or die $!; syswrite($s, shift); $s }
`

/** Connections at a Unix socket that are not closed at its own end: 03 is the kernel's word for connected. */
function connections(path: string): number {
  const rows = readFileSync('/proc/net/unix', 'utf8').split('\n')
  return rows.filter(row => row.endsWith(` ${path}`) && row.split(/\s+/)[5] === '03').length
}

/** A way out of a sandbox with one client program; `out` is the output of the client. */
async function withClient(script: string, more: Partial<EgressOptions> = {}) {
  const folder = await makeTemp('egress')
  const path = join(folder, 'exit')
  const egress = openEgress({
    ...{ path, uid: process.getuid?.() ?? 0 },
    rights: async () => ({ networks: [], admin: false }),
    lookup: async () => [],
    owner: new ExitShare(bytesInFlight().user('u-ann')),
    ...more,
  })
  const child = Bun.spawn(['/usr/bin/perl', '-e', DIAL + script, path], { stdio: ['pipe', 'pipe', 'inherit'] })
  const said = { out: '' }
  const reading = (async () => {
    for await (const chunk of child.stdout) said.out += new TextDecoder().decode(chunk)
  })()
  return {
    said,
    /** Number of the client's connections that are still held here. */
    held: () => connections(path),
    path,
    async [Symbol.asyncDispose]() {
      child.kill()
      await reading
      egress.close()
      await removeTemp(folder)
    },
  }
}

test('openEgress() answers 503 to a client too many, and lets go of it though it never hangs up', async () => {
  const script = `push @held, dial("") for 1..${MOST}; my $s = dial("${REQUEST}"); sysread($s, my $all, 999); print $all; sleep 99`
  await using client = await withClient(script)
  await until(() => client.said.out !== '')
  expect(client.said.out).toStartWith('HTTP/1.1 503 ')
  await until(() => client.held() === MOST, { what: 'the refused connection to be gone' })
})

test('openEgress() lets go of a client that was refused its request, though it never hangs up', async () => {
  await using client = await withClient(`my $s = dial("${REQUEST}"); sysread($s, my $all, 999); print $all; sleep 99`)
  await until(() => client.said.out !== '')
  expect(client.said.out).toStartWith('HTTP/1.1 403 ')
  await until(() => client.held() === 0, { what: 'the refused connection to be gone' })
})

test('openEgress() survives too many clients that have left before they were refused', async () => {
  const script = `push @held, dial("") for 1..${MOST}; print "full"; sleep 99`
  await using client = await withClient(script)
  await until(() => client.said.out === 'full' && client.held() === MOST)
  // Nothing is accepted meanwhile, so all of them have ended when they are accepted.
  Bun.spawnSync(['/usr/bin/perl', '-e', `${DIAL} close(dial("x")) for 1..300`, client.path])
  await until(() => client.held() === MOST, { what: 'those that have left to be gone' })
})

test('openEgress() measures what it carries, both ways', async () => {
  let measured = 0
  const echo = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: { data: (socket, bytes) => void socket.write(bytes) },
  })
  const script = `my $s = dial("CONNECT 127.0.0.1:${echo.port} HTTP/1.1\\r\\n\\r\\n"); sysread($s, my $x, 999);
    syswrite($s, "a" x 1000); my $all = ""; while (length($all) < 1000) { sysread($s, $x, 999); $all .= $x } print "back"; sleep 99`
  await using client = await withClient(script, {
    rights: async () => ({ networks: ['127.0.0.0/8'], admin: false }),
    owner: {
      enter: () => true,
      leave() {},
      held() {},
      gone() {},
      pace: bytes => {
        measured += bytes
        return 0
      },
    },
  })
  await until(() => client.said.out === 'back')
  expect(measured).toBe(2_000)
  echo.stop(true)
})

test('openEgress() answers 503 to programs of an owner who has 256 connections through all exits together', async () => {
  const share = new ExitShare(bytesInFlight().user('u-ann'))
  let entered = 0
  const enter = () => {
    const taken = share.enter()
    if (taken) entered += 1
    return taken
  }
  const owner = { pace: share.pace, enter, leave: () => share.leave(), held() {}, gone() {} }
  const hold = `push @held, dial("") for 1..${MOST}; sleep 99`
  const clients = await Promise.all(
    Array.from({ length: LIMITS.ownerTunnels / MOST }, () => withClient(hold, { owner })),
  )
  await until(() => entered === LIMITS.ownerTunnels, { what: 'as many connections as may be' })
  const asking = `my $s = dial("${REQUEST}"); sysread($s, my $all, 999); print $all; sleep 99`
  await using refused = await withClient(asking, { owner })
  await until(() => refused.said.out.includes('quota_streams'))
  expect(refused.said.out).toStartWith('HTTP/1.1 503 ')
  await Promise.all(clients.map(client => client[Symbol.asyncDispose]()))
  await using next = await withClient(asking, { owner })
  await until(() => next.said.out !== '')
  expect(next.said.out).toStartWith('HTTP/1.1 403 ')
})

test('openEgress() counts what an owner’s program does not take, and stops reading for it', async () => {
  let sent = 0
  const write = (socket: { write(bytes: Uint8Array): number }) => {
    sent += socket.write(new Uint8Array(4 * 2 ** 20))
  }
  const flood = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: { data: write, drain: write },
  })
  const account = bytesInFlight().user('u-ann')
  {
    await using client = await withClient(
      `my $s = dial("CONNECT 127.0.0.1:${flood.port} HTTP/1.1\\r\\n\\r\\n"); sysread($s, my $x, 39); syswrite($s, "go"); print "on"; sleep 99`,
      { owner: new ExitShare(account), rights: async () => ({ networks: ['127.0.0.0/8'], admin: false }) },
    )
    await until(() => client.said.out === 'on')
    await until(() => account.used > 0, { what: 'bytes that wait for the program' })
    expect(account.used).toBeLessThanOrEqual(2 ** 20)
  }
  await until(() => account.used === 0, { what: 'all bytes given back' })
  flood.stop(true)
  expect(sent).toBeLessThan(64 * 2 ** 20)
})
