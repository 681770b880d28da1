/**
 * Run by the boot probe inside the sandbox: tries what a sandboxed program must not be able to do and prints the
 * results on one line. The hub's own runtime runs it; it imports nothing of the hub.
 *
 * Arguments: the canary backwards (so that its own command line does not hold it), the canary file, the hub's port.
 */
import { closeSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'

const [backwards = '', file = '', port = '0'] = process.argv.slice(2)
const canary = [...backwards].reverse().join('')

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return undefined
  }
}

function seenInProc(): boolean {
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .some(pid => ['environ', 'cmdline'].some(name => read(`/proc/${pid}/${name}`)?.includes(canary)))
}

async function loopbackReached(): Promise<boolean> {
  try {
    const socket = await Bun.connect({ hostname: '127.0.0.1', port: Number(port), socket: { data() {} } })
    socket.end()
    return true
  } catch {
    return false
  }
}

/** True when the memory of the sandbox's first process can be opened for writing. */
function firstMemoryWritable(): boolean {
  try {
    closeSync(openSync('/proc/1/mem', 'r+'))
    return true
  } catch {
    return false
  }
}

/** True when this program can lower its own oom_score_adj. */
function oomLowered(): boolean {
  const before = Number(read('/proc/self/oom_score_adj'))
  try {
    writeFileSync('/proc/self/oom_score_adj', '0')
  } catch {
    // The expected result.
  }
  return !(before > 0 && Number(read('/proc/self/oom_score_adj')) === before)
}

function statusLine(name: string, pid = 'self'): string {
  return new RegExp(`^${name}:\\s*(.*)$`, 'm').exec(read(`/proc/${pid}/status`) ?? '')?.[1]?.trim() ?? ''
}

// Left behind in a session of its own, to check that it ends with the process tree.
Bun.spawn(['/usr/bin/sleep', '600'], { detached: true, stdio: ['ignore', 'ignore', 'ignore'] }).unref()
const report = {
  uids: statusLine('Uid').split(/\s+/).map(Number),
  capabilities: ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'].map(name => statusLine(name)),
  noNewPrivileges: statusLine('NoNewPrivs') === '1',
  // Its own filter, and that of the first process, through which it could otherwise detach the sandbox from the hub.
  filtered: ['self', '1'].every(pid => statusLine('Seccomp', pid) === '2'),
  canaryInProc: seenInProc(),
  canaryFile: read(file) !== undefined,
  loopback: await loopbackReached(),
  firstMemory: firstMemoryWritable(),
  oomLowered: oomLowered(),
}
process.stdout.write(`${JSON.stringify(report)}\n`)
// The hub ends it.
setInterval(() => undefined, 60_000)
