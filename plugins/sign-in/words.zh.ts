/** Chinese for the texts of the plugin's errors. */
export const words: Readonly<Record<string, string>> = {
  'The code is not right': '验证码不正确',
  'Enter the code that the app shows now, once, or a recovery code that was not used.':
    '请输入应用当前显示的验证码（每个只能用一次），或未使用过的恢复码。',
  'The sign-in has to begin again': '需要重新登录',
  'Enter user name and password again: a sign-in waits five minutes for its code, and takes five.':
    '请重新输入用户名和密码：每次登录等待验证码五分钟，最多可试五次。',
  'No such provider of sign-ins': '没有这个登录提供方',
  'GET /api/auth/providers lists those of this hub.': 'GET /api/auth/providers 列出此 Hub 的提供方。',
  'The provider of the sign-in does not answer': '登录提供方没有响应',
  'Try again in a while, or sign in with your password.': '请稍后重试，或使用密码登录。',
  'The provider did not sign you in': '登录提供方未完成登录',
  'Begin again. If it stays, ask an administrator of the hub to check the provider.':
    '请重新开始。若仍然如此，请让管理员检查该提供方。',
  'The sign-in was begun elsewhere': '此登录是在别处开始的',
  'Begin the sign-in again in this window; it is valid for ten minutes.': '请在此窗口重新开始登录，有效期为十分钟。',
  'No user of this hub has this account': '此 Hub 没有关联该账号的用户',
  'Sign in with your password and link the account in the settings, or ask an administrator.':
    '请用密码登录并在设置中关联账号，或联系管理员。',
  'Another user has linked this account': '此账号已被其他用户关联',
  'Unlink it there first.': '请先在那里取消关联。',
  'No such linked account': '没有这个已关联的账号',
  'GET /api/auth/identities lists yours.': 'GET /api/auth/identities 列出您的账号。',
  'The last way to sign in': '最后一种登录方式',
  'Link another account first, or ask an administrator for a password.': '请先关联其他账号，或请管理员设置密码。',
  'The passkey does not count': '通行密钥无效',
  'Begin again with a passkey that you have set at this address, or sign in another way.':
    '请使用在此地址设置的通行密钥重新开始，或用其他方式登录。',
  'The passkey is set already': '此通行密钥已设置',
  'Make a new passkey, or use this one.': '请创建新的通行密钥，或使用这一个。',
  'There are no passkeys at this address': '此地址不能使用通行密钥',
  'Open the hub by a host name with https, or set an authenticator app.':
    '请通过主机名以 https 打开 Hub，或设置身份验证器应用。',
  'No such second factor': '没有这个第二验证方式',
  'GET /api/auth/factors lists yours.': 'GET /api/auth/factors 列出您的验证方式。',
  'Too many second factors': '第二验证方式过多',
  'Remove one that you do not use any more.': '请移除不再使用的一个。',
}
