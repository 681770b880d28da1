/** Four kinds of callers by each answer, and by a kill of the hub: what their server counts. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { FORM, HASTY, Killed, meetAKill, OPENED, URL_ONLY, YES } from './killed.ts'

setDefaultTimeout(120_000)

let killed: Killed

beforeAll(async () => {
  killed = await Killed.start()
}, 120_000)
afterAll(() => killed?.stop(), 120_000)

/** Asks for a payment of this amount, and answers. */
type Answered = (amount: number) => Promise<unknown>
type Outcome = 'yes' | 'no' | 'silence' | 'changed'
const NO = { action: 'accept', content: { approve: false } }
/** The amount of the call whose arguments were changed after the yes. */
const changed = (amount: number) => amount + 0.5

async function kinds(): Promise<Readonly<Record<string, Readonly<Record<Outcome, Answered>>>>> {
  const form = await killed.modern('pay_caller', FORM)
  const link = await killed.modern('pay_owner', URL_ONLY)
  const decided = (decision: 'approve' | 'deny', sent: Answered) => async (amount: number) => {
    await killed.rest(amount)
    await killed.decide(decision, amount)
    await sent(amount)
  }
  const opened =
    (decision: 'approve' | 'deny', sent = (amount: number) => amount) =>
    async (amount: number) => {
      const asked = await link.asked(amount)
      await killed.decide(decision, amount)
      await link.again(sent(amount), asked, OPENED)
    }
  return {
    'form of 2026-07-28': {
      yes: async amount => form.again(amount, await form.asked(amount), YES),
      no: async amount => form.again(amount, await form.asked(amount), NO),
      changed: async amount => form.again(changed(amount), await form.asked(amount), YES),
      async silence(amount) {
        const asked = await form.asked(amount)
        await killed.expired(amount, killed.una)
        await form.again(amount, asked, YES)
      },
    },
    'link of 2026-07-28': {
      yes: opened('approve'),
      no: opened('deny'),
      changed: opened('approve', changed),
      async silence(amount) {
        const asked = await link.asked(amount)
        const id = await killed.expired(amount)
        await killed.bob.request('POST', `/api/approvals/${id}`, { decision: 'approve' })
        await link.again(amount, asked, OPENED)
      },
    },
    'elicitation of older clients': {
      yes: await killed.legacy(YES),
      no: await killed.legacy(NO),
      silence: await killed.legacy(new Promise<never>(() => {})),
      async changed(amount) {
        const [agreed, refused] = [await killed.legacy(YES), await killed.legacy(NO)]
        await agreed(amount)
        await refused(changed(amount))
      },
    },
    'a call that is held': {
      yes: decided('approve', killed.rest.bind(killed)),
      no: decided('deny', killed.rest.bind(killed)),
      changed: decided('approve', amount => killed.rest(changed(amount))),
      async silence(amount) {
        const first = killed.rest(amount)
        await killed.expired(amount)
        await first
        await killed.rest(amount)
      },
    },
  }
}

test('yes, no, silence, and other arguments: one call for each yes, and none otherwise', async () => {
  const counts: unknown[] = []
  let amount = 200
  for (const [kind, outcomes] of Object.entries(await kinds()))
    for (const [outcome, answered] of Object.entries(outcomes)) {
      amount += 1
      const sum = outcome === 'silence' ? HASTY + amount : amount
      await answered(sum)
      counts.push([kind, outcome, killed.payments.paid(outcome === 'changed' ? changed(sum) : sum)])
    }
  expect(counts).toHaveLength(16)
  expect(counts).toEqual(counts.map(one => [...(one as string[]).slice(0, 2), (one as string[])[1] === 'yes' ? 1 : 0]))
})

test('four kinds of callers meet SIGKILL before the decision, after it, and after the call', () => meetAKill(killed))
