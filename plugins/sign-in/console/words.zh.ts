/** Chinese texts of second factors, by their English. */
export const factors: Readonly<Record<string, string>> = {
  'Sign-in and factors': '登录与验证方式',
  'Second step': '第二步',
  'Recovery code': '恢复码',
  'Code of your app': '应用验证码',
  'Use the app': '使用应用',
  'Use a recovery code': '使用恢复码',
  'One of the ten that you have stored. It counts once.': '您保存的十个恢复码之一，只能使用一次。',
  'Open your authenticator app, and enter the six digits that it shows for this hub.':
    '打开身份验证器应用，输入它为此 Hub 显示的六位数字。',
  Checking: '正在验证',
  'Go on': '继续',
  'Set a second factor': '设置第二验证方式',
  'Users of this hub sign in with a second factor. Set one to go on.': '此 Hub 要求使用第二验证方式登录，请先设置。',
  'Is it still you?': '请确认是您本人',
  'Without a password: sign out, and sign in again.': '如果没有密码：请退出后重新登录。',
  'This changes only within ten minutes after you proved who you are.': '只有在验证身份后的十分钟内才能进行此更改。',
  'Second factor': '第二验证方式',
  'Set an authenticator app': '设置身份验证器应用',
  'A passkey, or a code of an app on your phone, besides the password. Whoever learns your password cannot sign in without it.':
    '除密码外，还需通行密钥或手机应用中的验证码。即使密码泄露，他人也无法登录。',
  'Recovery codes': '恢复码',
  '{n} code is left. Each is for one sign-in without the app or passkey.':
    '剩余 {n} 个，每个可在没有应用或通行密钥时登录一次。',
  '{n} codes are left. Each is for one sign-in without the app or passkey.':
    '剩余 {n} 个，每个可在没有应用或通行密钥时登录一次。',
  'Make new codes': '生成新的恢复码',
  'Scan this with the app, or enter the key there.': '用应用扫描，或在应用中输入密钥。',
  'QR code of the key': '密钥二维码',
  'Code that the app shows': '应用显示的验证码',
  'With the first app all your other sign-ins end. Access keys go on.':
    '设置第一个应用后，您的其他登录都会失效，访问密钥不受影响。',
  'Set the app': '完成设置',
  'Store these now: they are not shown again. Each is for one sign-in, if the app or the passkey is lost.':
    '请立即保存，之后不再显示。应用或通行密钥丢失时，每个可登录一次。',
  'I have stored them': '我已保存',
  'The app is set': '应用已设置',
  'Make new recovery codes?': '生成新的恢复码？',
  'The codes that you have now count no more.': '现有的恢复码将失效。',
  'The password alone is enough afterwards, and the recovery codes count no more.':
    '之后只需密码即可登录，恢复码也将失效。',
  '{name} is removed': '{name} 已移除',
  'You are not signed in': '未能登录',
  'Linked accounts': '已关联的账号',
  'You sign in with a linked account instead of the password.': '您可以用已关联的账号代替密码登录。',
  'Link {provider}': '关联 {provider}',
  'Unlink {provider}': '取消关联 {provider}',
  'Unlink {provider}?': '取消关联 {provider}？',
  Unlink: '取消关联',
  'You cannot sign in with it any more.': '之后无法再用它登录。',
  '{provider} is unlinked': '已取消关联 {provider}',
  'It counts no more.': '它将失效。',
  Passkey: '通行密钥',
  Rename: '重命名',
  'Authenticator app': '身份验证器应用',
  'Use a passkey': '使用通行密钥',
  'Set a passkey': '设置通行密钥',
  'The passkey is set': '通行密钥已设置',
  'Unlock the passkey that you have set for this hub.': '请解锁您为此 Hub 设置的通行密钥。',
  'Passkeys work at the name of the hub with https, not at this address.':
    '通行密钥只能在 Hub 的 https 主机名下使用，不能在此地址使用。',
  'Browsers keep passkeys for a host name with https, or for localhost, and not for the address of this page. An authenticator app works everywhere.':
    '浏览器只为使用 https 的主机名或 localhost 保存通行密钥，不适用于此页面的地址。身份验证器应用在任何地址都可用。',
  'With a passkey you sign in by fingerprint, face or PIN of your device, without the password.':
    '使用通行密钥，可用设备的指纹、面容或 PIN 登录，无需密码。',
  'This device has a passkey for the hub already.': '此设备已有该 Hub 的通行密钥。',
  'The browser has given no passkey. Try again.': '浏览器未提供通行密钥，请重试。',
}
