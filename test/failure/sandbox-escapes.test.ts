import { afterAll, describe, expect, test } from 'bun:test'
import { readdirSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { beyondCore } from '../support/extent.ts'
import { type Client, startHub } from '../support/hub.ts'
import { atMost } from '../support/pace.ts'
import { alive, commandOf } from '../support/processes.ts'
import { callText, online, statusOf } from '../support/servers.ts'
import { timed, until } from '../support/wait.ts'
import { knownShutIn as shutIn } from './fixtures/known.ts'

const hub = await startHub()
const admin = await hub.setup()
const { sandbox: level } = (await admin.ok('GET', '/health')).checks
console.log(`sandbox level of this machine: ${level}`)

afterAll(async () => {
  await hub.stop()
}, 120_000)

interface Ran {
  readonly status: number | null
  readonly out: string
  readonly err: string
}

async function start(client: Client, name: string): Promise<{ run(...command: string[]): Promise<Ran>; id: string }> {
  const { id } = await client.ok('POST', '/api/servers', await shutIn(name))
  await online(client, [name])
  const mcp = await client.mcp(`/mcp/${name}`)
  return {
    id,
    async run(...command) {
      return JSON.parse(await callText(mcp, 'run', { command }))
    },
  }
}

/** Perl's expression for a call of the kernel: what it returned, and the system's error number. */
function kernel(numbers: readonly [x64: number, arm64: number], ...args: readonly (number | string)[]): string[] {
  const number = numbers[process.arch === 'arm64' ? 1 : 0]
  const six = [...args, 0, 0, 0, 0, 0, 0].slice(0, 6)
  return ['/usr/bin/perl', '-e', `my @a = (${six.join(',')}); print syscall(${number}, @a), " ", $! + 0`]
}

const EPERM = 1
const ENOSYS = 38
const CALLS: Readonly<Record<string, string[]>> = {
  'to attach to the first process of the sandbox': kernel([101, 117], 16, 1),
  'to attach to a process of its own': kernel([101, 117], 16, '$$'),
  'to read another process’s memory': kernel([310, 270], 1),
  'to take another process’s descriptors': kernel([438, 438], 0, 4),
  'to look at the session’s keys': kernel([250, 219], 0, -3),
  'to leave something in a keyring': kernel([248, 217], '$k = "user"', '$d = "x"', '$v = "y"', 1, -4),
  'a user namespace of its own': kernel([272, 97], 0x10000000),
  'another namespace of mounts': kernel([272, 97], 0x00020000),
  'to enter another namespace': kernel([308, 268], 0),
  'to mount': kernel([165, 40], '$s = "none"', '$t = "/tmp"', '$f = "tmpfs"'),
  'to open a file by its handle': kernel([304, 265], -100, '$h = "x" x 64', 0),
  'to load a program into the kernel': kernel([321, 280], 5),
  'to ask for io_uring': kernel([425, 425], 1, '$p = "\\0" x 200'),
  'to take of the machine’s asynchronous reads': kernel([206, 0], 1, '$c = "\\0" x 8'),
  'to type into a terminal': kernel([16, 29], 0, 0x5412, '$c = "x"'),
  'to read the kernel’s log': kernel([103, 116], 3, '$b = "x" x 100', 100),
  'a process in namespaces of its own': kernel([56, 220], 0x10000011),
  'to watch all of a file system': kernel([300, 262], 0, 0),
  'another personality': kernel([135, 92], 0x0040000),
  'to set the clock': kernel([227, 112], 0, '$t = "x" x 16'),
}
/** Calls that are answered as by a kernel without them. */
const UNKNOWN: Readonly<Record<string, string[]>> = {
  clone3: kernel([435, 435], '$c = "\\0" x 88', 88),
  futex_waitv: kernel([449, 449], 0, 0),
  memfd_secret: kernel([447, 447], 0),
  landlock_create_ruleset: kernel([444, 444], 0, 0, 1),
  lsm_list_modules: kernel([461, 461], 0, 0, 0),
  'a queue of messages': kernel([240, 180], '$n = "/q"', 0o102, 0o600, 0),
  'shared memory of System V': kernel([29, 194], 0, 4096, 0o1600),
  'a call that is still to come': kernel([900, 900]),
}

if (level === 'full') describe('a program in the sandbox', aProgramInside)
else {
  test(`level ${level}: nothing of an ordinary user’s is started`, async () => {
    const bob = await hub.user('bob')
    const answer = await bob.request('POST', '/api/servers', await shutIn('probe'))
    expect([answer.status, answer.json.code]).toEqual([403, 'stdio_not_permitted'])
  })
}

async function aProgramInside(): Promise<void> {
  const bob = await hub.user('bob')
  const probe = await start(bob, 'probe')

  for (const [what, call] of Object.entries(CALLS)) {
    test(`is refused ${what}`, async () => {
      expect((await probe.run(...call)).out).toBe(`-1 ${EPERM}`)
    })
  }

  for (const [what, call] of Object.entries(UNKNOWN)) {
    test(`finds no such call as ${what}`, async () => {
      expect((await probe.run(...call)).out).toBe(`-1 ${ENOSYS}`)
    })
  }

  test('finds /proc read-only: it neither lowers its oom_score_adj nor writes to memory of other processes', async () => {
    const ways = [
      'self/oom_score_adj',
      'self/oom_adj',
      '1/oom_score_adj',
      '1/mem',
      '1/task/1/mem',
      '$PPID/mem',
      'self/mem',
    ]
    const script = `for f in ${ways.join(' ')}; do (exec 3<>/proc/$f) 2>/dev/null && echo $f; done; true`
    expect((await probe.run('/bin/sh', '-c', script)).out).toBe('')
    const remount = kernel([165, 40], '$s = "none"', '$t = "/proc"', 0, 0x1020, 0)
    expect((await probe.run(...remount)).out).toBe(`-1 ${EPERM}`)
    expect((await admin.ok('GET', '/health')).checks.sandboxNotes ?? []).toEqual([])
  })

  test('keeps the limit of core dumps under which the kernel starts no program for them', async () => {
    const script = 'ulimit -Sc; ulimit -Hc; ulimit -c 0; cat /proc/self/limits'
    const { out } = await probe.run('/bin/bash', '-c', script)
    expect(out).toMatch(/^Max core file size +1 +1 /m)
  })

  test('is filtered in each of its processes, the first one included', async () => {
    const { out } = await probe.run('/bin/sh', '-c', 'grep -h ^Seccomp: /proc/[0-9]*/status | sort -u')
    expect(out.trim()).toBe('Seccomp:\t2')
  })

  test('holds no descriptor but its own three, and its first process none of the hub’s', async () => {
    const { out } = await probe.run('/bin/sh', '-c', 'ls -l /proc/1/fd /proc/$PPID/fd | grep -o "[^ ]*$"')
    const [first = '', own = ''] = out.split('/proc/').slice(1)
    const opened = (text: string): string[] => text.split('\n').filter(line => /^(?:socket|anon_inode|\/)/.test(line))
    // Its standard error, and the descriptor that reports the end of the program.
    expect(opened(first).filter(line => !line.startsWith('socket:'))).toEqual([
      ...['/dev/null', '/dev/null', 'anon_inode:[eventfd]'],
    ])
    expect(opened(first).filter(line => line.startsWith('socket:'))).toHaveLength(1)
    expect(opened(own).filter(line => line.startsWith('/') && !/^\/(?:dev|usr|opt|proc)\//.test(line))).toEqual([])
  })

  test('gains nothing by setuid programs, its own or the machine’s', async () => {
    const uid = (await probe.run('/usr/bin/id', '-u')).out
    expect(Number(uid)).toBeGreaterThan(20_000)
    const own = await probe.run('/bin/sh', '-c', 'cp /usr/bin/id mine && chmod 6755 mine && ./mine -u && ./mine -g')
    expect(own.out).toBe(`${uid}${uid}`)
    const ran = await probe.run('/bin/sh', '-c', 'su -c id; mount -t tmpfs none /tmp; mknod n c 1 1; chown 0 mine')
    expect([ran.status, ran.out]).toEqual([1, ''])
  })

  test('finds no device and no switch of the kernel, and is the first to go when memory runs out', async () => {
    const ways = [
      ...['/proc/sysrq-trigger', '/proc/sys/kernel/core_pattern', '/proc/sys/kernel/hostname', '/proc/kcore'],
      ...['/sys', '/dev/mem', '/dev/kmsg', '/dev/fuse', '/dev/vda', '/dev/console', '/run', '/var', '/boot'],
    ]
    const script = `for f in ${ways.join(' ')}; do [ -w $f ] && echo $f; done; ls -A /sys /dev/mqueue; true`
    expect((await probe.run('/bin/sh', '-c', script)).out).toBe('')
    expect((await probe.run('/bin/cat', '/proc/self/oom_score_adj', '/proc/1/oom_score_adj')).out).toBe('1000\n1000\n')
  })

  beyondCore(() => {
    test('fills neither /tmp nor /dev/shm beyond 64 MiB, nor one file beyond 100 MiB', async () => {
      const script = (place: string) =>
        `yes | head -c 150000000 > ${place}/big; stat -c %s ${place}/big; rm ${place}/big`
      for (const [place, most] of [
        ['/tmp', 64],
        ['/dev/shm', 64],
        ['/home/server', 100],
      ] as const) {
        const size = Number((await probe.run('/bin/sh', '-c', script(place))).out)
        expect([place, size > 0 && size <= most * 1024 * 1024]).toEqual([place, true])
      }
    }, 120_000)
  })

  test('reaches no socket of the machine, abstract ones included', async () => {
    let reached = 0
    const name = `patchbay-test-${process.pid}`
    const server = createServer(socket => {
      reached += 1
      socket.destroy()
    })
    await new Promise<void>(resolve => server.listen({ path: `\0${name}` }, () => resolve()))
    const script = `use Socket; socket(S, AF_UNIX, SOCK_STREAM, 0); connect(S, pack("Sa*", AF_UNIX, "\\0${name}")) ? print "reached" : print $! + 0`
    expect((await probe.run('/usr/bin/perl', '-e', script)).out).toBe('111')
    // The same script reaches it from outside the sandbox.
    expect(Bun.spawnSync(['/usr/bin/perl', '-e', script]).stdout.toString()).toBe('reached')
    await until(() => reached === 1)
    server.close()
  })

  test('opens no socket that its own network does not hold', async () => {
    // These are Unix and IPv4, then packets of the wire, the kernel's ciphers, and VSOCK, which no namespace covers.
    const script = 'for (1, 2, 17, 38, 40) { socket(my $s, $_, 1, 0) ? print "open " : print $! + 0, " " }'
    expect((await probe.run('/usr/bin/perl', '-e', script)).out).toBe('open open 97 97 97 ')
  })

  test('signals nobody but itself', async () => {
    const cleo = await hub.user('cleo')
    await start(cleo, 'hers')
    const before = (await statusOf(cleo, 'hers')).pid ?? 0
    const victim = await start(bob, 'victim')
    const { out } = await victim.run('/usr/bin/perl', '-e', `print kill(9, ${hub.pid}), kill(9, ${before}), kill(0, 1)`)
    expect(out).toBe('001')
    await victim.run('/usr/bin/perl', '-e', 'kill 9, -1').catch(() => undefined)
    await online(bob, ['victim'])
    expect((await statusOf(cleo, 'hers')).pid).toBe(before)
    expect([alive(hub.pid), alive(before)]).toEqual([true, true])
  }, 120_000)

  beyondCore(() => {
    test('cannot make its end late: a tree that ignores TERM, forks and left its session is gone within 5 s', async () => {
      const { run } = await start(bob, 'stubborn')
      const forks = '$SIG{TERM} = "IGNORE"; for (1..4) { fork } POSIX::setsid(); syscall(157, 1, 0); sleep 987654'
      const mark = `987653${process.pid}`
      const script = `use POSIX; unless (fork) { close STDOUT; close STDERR; $0 = "${mark}"; ${forks} }`
      await run('/usr/bin/perl', '-e', script)
      const left = (): number[] =>
        readdirSync('/proc')
          .filter(name => /^\d+$/.test(name))
          .filter(pid => commandOf(Number(pid)).includes(mark))
          .map(Number)
      await until(() => left().length === 16, { what: 'the tree' })
      const { ms } = await timed(async () => {
        await bob.ok('POST', '/api/servers/stubborn/stop')
        await until(() => left().length === 0, { timeoutMs: 6_000, what: 'the tree to be gone' })
      })
      expect(ms).toBeLessThan(atMost(5_000))
    }, 120_000)
  })

  test('leads the hub nowhere by links: removing its folder removes nothing else', async () => {
    const { run, id } = await start(bob, 'links')
    const files = [hub.settingsFile, join(hub.dataDir, 'patchbay.db')]
    const before = files.map(file => statSync(file))
    const { id: ownerId } = await bob.ok('GET', '/api/auth/me')
    const folder = join(hub.dataDir, 'owners', ownerId, id)
    const targets = [...files, hub.dataDir, hub.folder, '/', '..', join(hub.dataDir, 'owners')]
    const links = targets.map((target, index) => `ln -s ${target} link${index}; ln ${target} hard${index}`).join('; ')
    // These folders are nested deeper than any path may be long; another one is closed to its owner.
    const deep =
      'i=0; while [ $i -lt 200 ]; do mkdir long-name-of-a-folder && cd -P long-name-of-a-folder; i=$((i+1)); done'
    await run('/bin/sh', '-c', `${links}; mkdir closed && touch closed/x && chmod 0 closed; ${deep}`)
    expect(readdirSync(folder).filter(name => name.startsWith('link'))).toHaveLength(targets.length)
    expect(readdirSync(folder).filter(name => name.startsWith('hard'))).toEqual([])
    await bob.ok('DELETE', '/api/servers/links')
    await until(() => statSync(folder, { throwIfNoEntry: false }) === undefined, { what: 'the folder to be gone' })
    const owned = (stats: typeof before) => stats.map(({ ino, uid, mode }) => [ino, uid, mode])
    expect(owned(files.map(file => statSync(file)))).toEqual(owned(before))
    expect((await admin.request('GET', '/health')).status).toBe(200)
  }, 120_000)

  beyondCore(() => {
    test('is rid of in seconds, however deep it has nested its folder', async () => {
      const { run, id } = await start(bob, 'deep')
      const { id: ownerId } = await bob.ok('GET', '/api/auth/me')
      const folder = join(hub.dataDir, 'owners', ownerId, id)
      await run('/usr/bin/perl', '-e', 'for (1..10000) { mkdir "d"; chdir "d" }')
      await bob.ok('DELETE', '/api/servers/deep')
      const gone = () => statSync(folder, { throwIfNoEntry: false }) === undefined
      await until(gone, { timeoutMs: 60_000, what: 'the folder to be gone' })
    }, 120_000)
  })
}
