import { z } from 'zod'

/** Settings of the plugin. */
export const config = z.strictObject({
  requireSecondFactor: z
    .enum(['off', 'admins', 'all'])
    .default('off')
    .meta({
      title: 'Second factor required',
      description: 'Who must have a second factor. Until it is set, one can do nothing else.',
      'x-zh': {
        title: '必须使用第二验证方式',
        description: '哪些用户必须设置第二验证方式；设置之前无法进行其他操作。',
      },
    }),
})

/** The settings, read. */
export type SignInConfig = z.infer<typeof config>
