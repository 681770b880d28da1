/** 14 takes a second, and each step twice the time of the one before: 31 would keep a thread busy for days. */
const HIGHEST_COST = 14
const FORM = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/

/** True when a text is a bcrypt hash (`$2a$`, `$2b$`, `$2y$`), of any cost. */
export function isBcrypt(hash: string): boolean {
  return FORM.test(hash)
}

/** True when it is a bcrypt hash that is verified: of cost 14 or less. */
export function isBearableBcrypt(hash: string): boolean {
  const cost = FORM.exec(hash)?.[1]
  return cost !== undefined && Number(cost) <= HIGHEST_COST
}
