import { describe, expect, test } from 'bun:test'
import { createPasswords, passwordProblem } from '../../../core/auth/passwords.ts'
import { atMost } from '../../support/pace.ts'

const good = 'correct horse battery staple 7'

describe('passwordProblem()', () => {
  test.each([
    ['short', 'password_weak'],
    ['elevenchars', 'password_weak'],
    ['123456789012', 'password_weak'],
    ['PASSWORDPASSWORD', 'password_weak'],
    ['Password1234!', 'password_weak'],
    ['qwertyuiopasdfghjkl', 'password_weak'],
    ['ababababababab', 'password_weak'],
    ['my name is ADA99!', 'password_weak'],
    ['x7'.repeat(129), 'length'],
  ])('passwordProblem() refuses %p', (password, code) => {
    expect(passwordProblem(password, 'ada')).toMatchObject({ pointer: '#/password', code })
  })

  test('passwordProblem() takes a long sentence, and a short user name inside', () => {
    expect(passwordProblem(good, 'ada')).toBeUndefined()
    expect(passwordProblem(good, 'a')).toBeUndefined()
    expect(passwordProblem('𝔘𝔫𝔦𝔠𝔬𝔡𝔢 zwölf!', 'ada')).toBeUndefined()
  })
})

describe('createPasswords()', () => {
  const passwords = createPasswords()

  test('hash() makes argon2id at the agreed cost, which verify() takes', async () => {
    const hash = await passwords.hash(good)
    expect(hash).toStartWith('$argon2id$v=19$m=19456,t=2,p=1$')
    expect(await passwords.verify(good, hash)).toEqual({ ok: true, outdated: false })
    expect(await passwords.verify('another one entirely', hash)).toEqual({ ok: false, outdated: false })
  })

  test('verify() takes the same text composed otherwise', async () => {
    const hash = await passwords.hash('zwölf sehr böse wörter')
    expect((await passwords.verify('zwölf sehr böse wörter'.normalize('NFD'), hash)).ok).toBe(true)
  })

  test.each(['$2a', '$2b', '$2y'])(
    'verify() takes an imported bcrypt hash of form %s and calls it outdated',
    async form => {
      const hash = form + (await Bun.password.hash(good, { algorithm: 'bcrypt', cost: 4 })).slice(3)
      expect(await passwords.verify(good, hash)).toEqual({ ok: true, outdated: true })
      expect((await passwords.verify('wrong', hash)).ok).toBe(false)
    },
  )

  // Made by bcryptjs 3.0.3.
  const LONG = 'long words of a sentence that goes on and on until it has passed 72 bytes: ends here'
  test.each([
    [LONG, '$2b$04$1E9VNaCAZPzCNXgt9X2pI.UTSe7k2z7lfMFY30MwTXxPONc1mtwF2'],
    [
      `${LONG.slice(0, 72)} and what follows is not read`,
      '$2b$04$1E9VNaCAZPzCNXgt9X2pI.UTSe7k2z7lfMFY30MwTXxPONc1mtwF2',
    ],
    [`a${'é'.repeat(40)}`, '$2b$04$quWT/xsqmKwrPNHQlEB4seVwKz9BsVZbG546NU44wnjXkhFacrL1i'],
    ['zwölf böse wörter'.normalize('NFC'), '$2b$04$Ob.MOoBiZ0KjTSPWF4A.Wu4Xcp3OnSB5Su4Akvcpf9LNgDw7vFYq2'],
    ['zwölf böse wörter'.normalize('NFD'), '$2b$04$Ob.MOoBiZ0KjTSPWF4A.Wu4Xcp3OnSB5Su4Akvcpf9LNgDw7vFYq2'],
    ['zwölf böse wörter'.normalize('NFD'), '$2b$04$B3JT1o1d/LYrStIgKuN.auEe3i9cej8CIekwuw0ShQmomhY6HyT9.'],
  ])('verify() takes %p where bcryptjs takes it', async (password, hash) => {
    expect(await passwords.verify(password, hash)).toEqual({ ok: true, outdated: true })
    expect((await passwords.verify(password.slice(0, 12), hash)).ok).toBe(false)
  })

  test('verify() does not begin with a hash of a cost over 14, which would keep a thread busy for days', async () => {
    const begun = performance.now()
    const dear = (await Bun.password.hash(good, { algorithm: 'bcrypt', cost: 4 })).replace('$04$', '$31$')
    expect(await passwords.verify(good, dear)).toEqual({ ok: false, outdated: false })
    expect(performance.now() - begun).toBeLessThan(atMost(5_000))
  })

  test.each([null, undefined, '', 'plain text', '$argon2id$broken', '$2b$10$short'])(
    'verify() refuses everything where the hash is %p',
    async hash => {
      expect(await passwords.verify(good, hash)).toEqual({ ok: false, outdated: false })
    },
  )

  test('verify() refuses an empty and an endless password', async () => {
    const hash = await passwords.hash(good)
    expect((await passwords.verify('', hash)).ok).toBe(false)
    expect((await passwords.verify(good.repeat(100), hash)).ok).toBe(false)
  })

  test('verify() takes as long for nobody as for somebody', async () => {
    const hash = await passwords.hash(good)
    // Processor time of the whole process, since other programs on the machine stretch the time on the clock.
    const work = async (stored: string | null): Promise<number> => {
      const before = process.cpuUsage()
      await passwords.verify('a wrong password', stored)
      const { user, system } = process.cpuUsage(before)
      return user + system
    }
    const [nobody, somebody]: number[][] = [[], []]
    for (let round = 0; round < 9; round += 1) {
      nobody?.push(await work(null))
      somebody?.push(await work(hash))
    }
    const median = (values: number[] = []) => values.sort((left, right) => left - right)[4] ?? 0
    const ratio = median(nobody) / median(somebody)
    // Caches move single figures; skipping the hash altogether would be a hundredth.
    expect(ratio).toBeGreaterThan(0.5)
    expect(ratio).toBeLessThan(2)
  })

  test('hash() refuses the 53rd at a time with overloaded, and works afterwards', async () => {
    const outcomes = await Promise.allSettled(Array.from({ length: 54 }, () => passwords.hash(good)))
    const refused = outcomes.filter(outcome => outcome.status === 'rejected')
    expect(refused.map(outcome => outcome.reason.code)).toEqual(['overloaded', 'overloaded'])
    expect(await passwords.hash(good)).toStartWith('$argon2id$')
  })
})
