import { afterEach, beforeEach, expect, test } from 'bun:test'
import { mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { OldLogFiles, periodOf, type RotationOptions } from '../../../core/telemetry/log-rotation.ts'
import { LogWriter } from '../../../core/telemetry/log-writer.ts'
import { until } from '../../support/wait.ts'

const lost = (count: number) => `lost ${count}\n`
const OLD = /^hub-\d{8}T\d{6}\.\d{3}Z\.log(\.gz)?$/
const rotation: RotationOptions = { interval: 'daily', maxBytes: 10_000, maxFiles: 3, compress: false }

let folder: string
let file: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'patchbay-log-file-'))
  file = join(folder, 'hub.log')
})
afterEach(() => rm(folder, { recursive: true }))

const oldFiles = async () => (await readdir(folder)).filter(name => OLD.test(name)).sort()

async function writeLines(count: number, change: Partial<RotationOptions> = {}, from = 0): Promise<void> {
  const writer = await LogWriter.open({ file, rotation: { ...rotation, ...change }, lost })
  for (let n = from; n < from + count; n += 1) {
    writer.write(`${String(n).padStart(6, '0')} ${'x'.repeat(92)}\n`)
    if (n % 10 === 9) await writer.flush()
  }
  await writer.end()
}

/** The numbers of all lines in these files, in order. */
async function numbersIn(names: readonly string[]): Promise<number[]> {
  const texts = await Promise.all(
    names.map(async name => {
      const bytes = await readFile(join(folder, name))
      return (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString()
    }),
  )
  return [...texts.join('').matchAll(/^(\d{6}) x{92}$/gm)].map(match => Number(match[1]))
}

test('a full log file is put aside, and the newest files are kept, each no larger than allowed', async () => {
  await writeLines(1_000)
  await until(async () => (await oldFiles()).length === rotation.maxFiles)
  const names = [...(await oldFiles()), 'hub.log']
  for (const name of names) {
    const { size, mode } = await stat(join(folder, name))
    expect(size).toBeLessThanOrEqual(rotation.maxBytes)
    expect(mode & 0o777).toBe(0o600)
  }
  const numbers = await numbersIn(names)
  // No line is missing, doubled or out of order between the oldest that is kept and the last.
  expect(numbers).toEqual(Array.from({ length: numbers.length }, (_, at) => 1_000 - numbers.length + at))
  expect(numbers.length).toBeGreaterThan(300)
})

test('a file that is reopened again and again while it is rotated loses no line and changes no order', async () => {
  const writer = await LogWriter.open({ file, rotation: { ...rotation, maxFiles: 1_000 }, lost })
  let done = false
  const reopening = (async () => {
    while (!done) expect(await writer.reopen()).toBeUndefined()
  })()
  for (let n = 0; n < 10_000; n += 1) {
    writer.write(`${String(n).padStart(6, '0')} ${'x'.repeat(92)}\n`)
    if (n % 50 === 49) await writer.flush()
  }
  done = true
  await reopening
  await writer.end()
  const names = [...(await oldFiles()), 'hub.log']
  expect(names.length).toBe(100)
  for (const name of names) expect((await stat(join(folder, name))).size).toBeLessThanOrEqual(rotation.maxBytes)
  expect(await numbersIn(names)).toEqual(Array.from({ length: 10_000 }, (_, at) => at))
})

test('with a clock that was set back, the first old file by name is still the oldest', async () => {
  let nowMs = Date.parse('2026-11-22T12:00:00.000Z')
  const writer = await LogWriter.open({ file, rotation: { ...rotation, now: () => nowMs }, lost })
  for (let n = 0; n < 1_000; n += 1) {
    if (n % 100 === 0) nowMs -= 5_000
    writer.write(`${String(n).padStart(6, '0')} ${'x'.repeat(92)}\n`)
    if (n % 10 === 9) await writer.flush()
  }
  await writer.end()
  await until(async () => (await oldFiles()).length === rotation.maxFiles)
  expect(await numbersIn([...(await oldFiles()), 'hub.log'])).toEqual(Array.from({ length: 400 }, (_, at) => 600 + at))
})

test('old files are compressed whole, and keep mode and time; what has another name is left alone', async () => {
  const others = ['hub-2026.log', 'hub-20261122T000000.000Z.txt', 'other-20261122T000000.000Z.log']
  for (const name of others) await writeFile(join(folder, name), 'mine')
  await writeLines(1_000, { compress: true, maxFiles: 50 })
  await until(async () => (await oldFiles()).every(name => name.endsWith('.gz')))
  const names = await oldFiles()
  expect(names.length).toBe(9)
  expect((await stat(join(folder, names[0] ?? ''))).mode & 0o777).toBe(0o600)
  expect(await numbersIn([...names, 'hub.log'])).toEqual(Array.from({ length: 1_000 }, (_, at) => at))
  expect((await readdir(folder)).sort()).toEqual([...names, 'hub.log', ...others].sort())
})

test('compressing that a hub left unfinished at its end is finished by the next', async () => {
  const name = 'hub-20261122T000000.000Z.log'
  await writeFile(join(folder, name), 'kept\n')
  await writeFile(join(folder, `${name}.gz.part`), 'half')
  await writeLines(1, { compress: true })
  await until(async () => (await readdir(folder)).includes(`${name}.gz`))
  await until(async () => (await readdir(folder)).length === 2)
  expect(gunzipSync(await readFile(join(folder, `${name}.gz`))).toString()).toBe('kept\n')
})

test('a file begins with its hour, day or week, by the UTC clock; weeks begin on Monday', async () => {
  const at = (text: string) => Date.parse(text)
  expect(periodOf('weekly', at('2026-11-22T23:59:59.999Z'))).not.toBe(periodOf('weekly', at('2026-11-23T00:00:00Z')))
  expect(periodOf('weekly', at('2026-11-23T00:00:00Z'))).toBe(periodOf('weekly', at('2026-11-29T23:59:59Z')))
  expect(periodOf('hourly', at('2026-11-22T10:59:59Z'))).not.toBe(periodOf('hourly', at('2026-11-22T11:00:00Z')))
  let nowMs = at('2026-11-22T23:59:59.000Z')
  const writer = await LogWriter.open({ file, rotation: { ...rotation, now: () => nowMs }, lost })
  writer.write('before\n')
  await writer.flush()
  writer.write('still before\n')
  await writer.flush()
  nowMs += 1_500
  writer.write('after\n')
  await writer.end()
  expect(await readFile(file, 'utf8')).toBe('after\n')
  expect(await oldFiles()).toEqual(['hub-20261123T000000.500Z.log'])
  expect(await readFile(join(folder, 'hub-20261123T000000.500Z.log'), 'utf8')).toBe('before\nstill before\n')
})

test('an interval that ended while the hub was down is made up for', async () => {
  await writeFile(file, 'of the day before\n')
  await utimes(file, new Date('2026-11-20T12:00:00Z'), new Date('2026-11-20T12:00:00Z'))
  await writeLines(1, { now: () => Date.parse('2026-11-21T08:00:00Z') })
  expect(await oldFiles()).toEqual(['hub-20261121T080000.000Z.log'])
})

test('a file from before of full size is put aside at the first line', async () => {
  await writeFile(file, 'y'.repeat(rotation.maxBytes))
  await writeLines(1)
  const [old = ''] = await oldFiles()
  expect((await stat(join(folder, old))).size).toBe(rotation.maxBytes)
})

test('with "none" nothing is put aside, however long the file', async () => {
  await writeLines(300, { interval: 'none' })
  expect(await readdir(folder)).toEqual(['hub.log'])
})

test('a file that cannot be put aside is written on; that is logged once', async () => {
  const told: string[] = []
  // With a time in it, the name is longer than a name may be.
  const long = join(folder, `${'h'.repeat(240)}.log`)
  const writer = await LogWriter.open({ file: long, rotation, lost, notRotated: error => void told.push(error) })
  for (let n = 0; n < 300; n += 1) {
    writer.write(`${'x'.repeat(99)}\n`)
    if (n % 10 === 9) await writer.flush()
  }
  await writer.end()
  expect((await readFile(long, 'utf8')).match(/\n/g)).toHaveLength(300)
  expect(told.length).toBe(1)
})

test('compressing rests longer where processors are few, and gives the same', async () => {
  const text = Array.from({ length: 6_000 }, (_, n) => `{"level":"INFO","n":${n},"message":"of some length"}\n`).join(
    '',
  )
  const old = join(folder, 'hub-20261122T000000.000Z.log')
  const timesMs: number[] = []
  // The shortest of three, since other work on the machine makes it longer.
  for (const processors of [8, 8, 8, 2]) {
    await writeFile(old, text)
    const startedMs = performance.now()
    new OldLogFiles(file, { maxFiles: 5, compress: true }, processors).tidy()
    const isDone = async () => (await oldFiles()).join() === `${basename(old)}.gz`
    await until(isDone, { timeoutMs: 30_000, intervalMs: 2, what: 'the file to be compressed' })
    timesMs.push(performance.now() - startedMs)
    expect(gunzipSync(await readFile(`${old}.gz`)).toString()).toBe(text)
    await rm(`${old}.gz`)
  }
  const few = timesMs.pop()
  expect(few).toBeGreaterThan(3 * Math.min(...timesMs))
}, 60_000)

test('a file is not larger than it may be when many lines come at once, and every line is kept', async () => {
  const writer = await LogWriter.open({ file, rotation: { ...rotation, maxBytes: 50_000, maxFiles: 1_000 }, lost })
  const count = 9_000
  for (let n = 0; n < count; n += 1) writer.write(`${String(n).padStart(6, '0')} ${'x'.repeat(92)}\n`)
  await until(() => writer.state().sent === count, { what: 'all lines to be written' })
  await writer.end()
  const names = [...(await oldFiles()), 'hub.log']
  expect(names.length).toBeGreaterThanOrEqual(18)
  for (const name of names) expect((await stat(join(folder, name))).size).toBeLessThanOrEqual(50_000)
  expect(await numbersIn(names)).toEqual(Array.from({ length: count }, (_, n) => n))
})

test('the oldest files go while another one is still compressed', async () => {
  const old = (minute: number) => join(folder, `hub-20261122T00${String(minute).padStart(2, '0')}00.000Z.log`)
  const oldLogFiles = new OldLogFiles(file, { maxFiles: 2, compress: true }, 1)
  const text = Array.from({ length: 12_000 }, (_, n) => `{"level":"INFO","n":${n},"message":"of some length"}\n`).join(
    '',
  )
  await writeFile(old(10), text)
  oldLogFiles.tidy()
  await until(async () => (await readdir(folder)).some(name => name.endsWith('.part')), { intervalMs: 1 })
  for (const minute of [11, 12, 13]) await writeFile(old(minute), `${minute}`)
  oldLogFiles.tidy()
  const plain = (names: readonly string[]) => names.filter(name => name.endsWith('.log'))
  await until(async () => plain(await readdir(folder)).length === 2, { intervalMs: 1 })
  // Its compressing takes a second or more.
  expect((await readdir(folder)).sort()).toEqual([`${basename(old(10))}.gz.part`, basename(old(12)), basename(old(13))])
  await until(async () => (await readdir(folder)).every(name => name.endsWith('.gz')))
  expect(await oldFiles()).toEqual([12, 13].map(minute => `${basename(old(minute))}.gz`))
}, 60_000)

test('a file that stands there twice, as it is and compressed, counts once', async () => {
  const old = [1, 2, 3].map(minute => join(folder, `hub-20261122T000${minute}00.000Z.log`))
  for (const name of [`${old[0]}.gz`, `${old[1]}.gz`, old[2]!, `${old[2]}.gz`]) await writeFile(name, 'x')
  const oldLogFiles = new OldLogFiles(file, { maxFiles: 3, compress: false })
  oldLogFiles.tidy()
  await writeFile(`${old[0]}.gz.part`, 'left')
  oldLogFiles.tidy()
  await until(async () => !(await readdir(folder)).some(name => name.endsWith('.part')))
  expect(await readdir(folder)).toHaveLength(4)
})
