import type { MakePart } from 'patchbay/console'

/** Ways to sign in besides the password, and second factors. */
export const signIn: MakePart = ({ t }) => ({
  plugin: 'sign-in',
  places: [
    {
      id: 'provider-callback',
      paths: ['/signin/callback'],
      title: () => t('Sign in'),
      icon: 'key',
      page: 'factors',
      isPublic: true,
      element: 'pb-provider-callback',
      load: () => import('./callback.ts'),
    },
  ],
  pieces: [
    {
      slot: 'settings',
      id: 'factors',
      title: () => t('Sign-in and factors'),
      page: 'factors',
      element: 'pb-sign-in-settings',
      load: () => import('./settings.ts'),
    },
    {
      slot: 'proof',
      id: 'proof',
      title: () => t('Is it still you?'),
      page: 'factors',
      element: 'pb-proof',
      load: () => import('./proof.ts'),
    },
    {
      slot: 'factor-gate',
      id: 'factor-gate',
      title: () => t('Set a second factor'),
      page: 'factors',
      element: 'pb-factor-gate',
      load: () => import('./factor-gate.ts'),
    },
  ],
  signIn: () => import('./sign-in-parts.ts'),
})
