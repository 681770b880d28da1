/**
 * Makes the hub's own password hashes cheap in this process: argon2id with 64 KiB and one pass, with the usual cost written in
 * front, where the product's takes 90 ms of a processor. Hashes that other processes have made are verified at their own cost, and so
 * is every wrong password.
 */
const WRITTEN = 'm=19456,t=2,p=1'
const QUICK = 'm=64,t=1,p=1'

const { hash, verify } = Bun.password

export function makePasswordsQuick(): void {
  Object.assign(Bun.password, {
    async hash(password: string, options: Bun.Password.Argon2Algorithm): Promise<string> {
      const isUsual = options.memoryCost === 19_456 && options.timeCost === 2
      if (!isUsual) return hash(password, options)
      return (await hash(password, { ...options, memoryCost: 64, timeCost: 1 })).replace(QUICK, WRITTEN)
    },
    async verify(password: string, text: string): Promise<boolean> {
      const quick = text.replace(WRITTEN, QUICK)
      return (quick !== text && (await verify(password, quick))) || verify(password, text)
    },
  })
}
